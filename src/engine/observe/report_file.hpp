#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
    /// Adds the report of a run that has ended. `describe` is called when the file is written, and returns it in
    /// the form that wants_json() says. If there are more than `most_kept` reports, the first ones and the last one are
    /// kept.
    void add(std::function<std::string()> describe);
    /// Writes all reports, and behind them `of_all_runs` in the same form, unless no report was added since the
    /// last call. `of_all_runs` may be empty.
    void write(const std::string& of_all_runs) noexcept;

private:
    static constexpr std::size_t most_kept = 1000;

    std::string text(const std::string& of_all_runs) const;

    const std::string path_;
    std::mutex adding_;
    std::vector<std::function<std::string()>> runs_{}; ///< under adding_
    std::uint64_t ended_ = 0;                          ///< likewise
    std::optional<std::uint64_t> written_{}; ///< likewise: value of ended_ when the file was last written
};

} // namespace weft::engine
