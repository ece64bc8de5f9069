#pragma once

#include "policy/parts/sharing_order.hpp"
#include "policy/seam/policy.hpp"

#include "queue/cell.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// A profile of a run: the work of each task, and the cache lines that it says to touch, in a file.
///
/// The first line names the format. Each of the others is a task: its id in hexadecimal digits, its work in
/// nanoseconds, and ranges of cache lines, FIRST-LAST, half-open. What is made of the figures is the business
/// of sharing_order.hpp and of the policy.
namespace weft {

inline constexpr std::uint64_t profile_line_bytes = 64;

/// Empty if there is no such file. Throws weft::error for one that is not a profile.
std::optional<std::vector<profiled_task>> read_profile(const std::string& file);

/// Keeps what it is told and writes the file when it goes.
class profile_recorder {
public:
    /// Allocates: for policy::attach.
    explicit profile_recorder(std::string file);
    profile_recorder(const profile_recorder&) = delete;
    profile_recorder& operator=(const profile_recorder&) = delete;
    /// Writes the file, if there is anything to write. A failure is reported on the standard error stream.
    ~profile_recorder();

    /// A task has ended. Any worker. What is beyond most_records is left out.
    void keep(const task& t, const usage& used) noexcept;

private:
    struct record {
        static constexpr std::size_t most_ranges = 4;
        std::uint64_t id;
        time_ns work;
        std::array<line_range, most_ranges> lines;
    };
    static constexpr std::size_t most_records = 1 << 16;

    void write() const;

    const std::string file_;
    std::unique_ptr<record[]> records_; // each is written by one worker, the one that drew its index
    queue::cell<std::size_t> used_;
};

} // namespace weft
