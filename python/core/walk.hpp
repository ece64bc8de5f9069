#pragma once

#include "trace/write/record.hpp"

#include <cstdint>
#include <span>
#include <vector>

/// What the records of a trace come to: docs/trace-format.md, "What a worker does when".
namespace weft::trace {

inline constexpr std::int64_t unknown = -1;

/// Which entry of the table of tasks.
using row = std::uint32_t;
inline constexpr row no_row = 0xffff'ffff;

/// One entry a task, by first mention. Times in nanoseconds.
struct task_table {
    std::vector<std::uint32_t> number, name, parent;
    std::vector<std::uint64_t> group;
    std::vector<std::uint8_t> origin, start, outcome; ///< 255: unknown
    std::vector<std::int32_t> worker;                 ///< on which it began, or `unknown`
    std::vector<std::int64_t> spawned, began, ended;  ///< or `unknown`
    std::vector<std::int64_t> own; ///< on top of a worker's stack; `unknown` where lost events may hide some
};

/// One entry a stretch; of one worker, ascending and disjoint.
struct segment_table {
    std::vector<std::int32_t> worker;
    std::vector<std::uint32_t> task; ///< number
    std::vector<std::int64_t> begin, end;
};
struct idle_table {
    std::vector<std::int32_t> worker;
    std::vector<std::uint8_t> asleep;
    std::vector<std::int64_t> begin, end;
};

/// The longest path of all, one entry a stretch in one task, from its beginning. In nanoseconds of the path.
struct critical_path {
    std::vector<row> task; ///< of the table of tasks
    std::vector<std::int64_t> begin, end;
};

/// Hears what happens, in the order of `tables::order`.
struct observer {
    virtual ~observer() = default;
    /// The task of row `t` has run for `ns` more.
    virtual void ran(row t, std::int64_t ns) = 0;
    /// `r` happens at `when`. `top`: what its worker ran until then, or `no_row`; `about`: the task that
    /// `r.a` names, if it was mentioned before.
    virtual void event(const record& r, row top, row about, std::int64_t when) = 0;
};

struct tables {
    std::vector<std::uint32_t> order; ///< of the records: by time, and a cause before its effects
    task_table tasks;
    segment_table segments;
    idle_table idle;
    std::int64_t first = 0, last = 0; ///< times of the first and the last event
    std::int64_t span = 0;            ///< the length of the longest path of all
    critical_path critical{};
    std::uint64_t disorder = 0; ///< events whose cause does not come before them
};

/// `records` in the order of the file, of the streams 0 to workers - 1 and `outside`. Takes any records
/// without harm. `complete`: nothing came behind the last of them. Throws std::bad_alloc, and what `who`
/// does.
tables walk(std::span<const record> records, int workers, bool complete, observer* who = nullptr);

} // namespace weft::trace
