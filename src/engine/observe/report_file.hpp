#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace weft::engine {

/// Collects the reports of an engine's runs and writes them to a file: JSON if its name ends in .json, else
/// tables; "-" is standard error. docs/reports.md has the form. Any thread may call it.
class report_file {
public:
    /// Throws weft::error if the file cannot be created.
    explicit report_file(std::string path);

    bool wants_json() const noexcept { return path_.ends_with(".json"); }
    /// Adds the report of a run that has ended, in the form that wants_json() says. If there are more than
    /// `most_kept` reports, the first ones and the last one are kept.
    void add(std::string report);
    /// Writes all reports, unless none was added since the last call.
    void write() noexcept;

private:
    static constexpr std::size_t most_kept = 1000;

    std::string text() const;

    const std::string path_;
    std::mutex adding_;
    std::vector<std::string> runs_{};        ///< under adding_
    std::uint64_t ended_ = 0;                ///< likewise
    std::optional<std::uint64_t> written_{}; ///< likewise: value of ended_ when the file was last written
};

} // namespace weft::engine
