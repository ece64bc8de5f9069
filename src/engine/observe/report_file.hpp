#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace weft::engine {

/// The reports of an engine's runs on their way to a file: JSON if its name ends in .json, else tables; "-"
/// is standard error. docs/reports.md has the form. From any thread.
class report_file {
public:
    /// Throws weft::error if there can be no such file.
    explicit report_file(std::string path);

    bool wants_json() const noexcept { return path_.ends_with(".json"); }
    /// Of a run that has ended, as wants_json() says. Where there are many, the first ones and the last are
    /// kept.
    void add(std::string report);
    /// Writes all of them, unless that was done since the last one came.
    void write() noexcept;

private:
    static constexpr std::size_t most_kept = 1000;

    std::string text() const;

    const std::string path_;
    std::mutex adding_;
    std::vector<std::string> runs_{};        ///< under adding_
    std::uint64_t ended_ = 0;                ///< likewise
    std::optional<std::uint64_t> written_{}; ///< likewise: as many had ended then
};

} // namespace weft::engine
