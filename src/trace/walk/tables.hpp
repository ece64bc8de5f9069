#pragma once

#include <cstdint>
#include <vector>

/// What the records of a trace come to: docs/trace-format.md, "What a worker does when". All times are in
/// nanoseconds since the beginning of the trace.
namespace weft::trace {

/// In place of a time, a duration or a worker.
inline constexpr std::int64_t unknown = -1;

/// In place of an origin, a start or an outcome.
inline constexpr std::uint8_t unknown_byte = 255;

/// Index into the table of tasks.
using row = std::uint32_t;
inline constexpr row no_row = 0xffff'ffff;

/// One entry a task, in the order of first mention.
struct task_table {
    std::vector<std::uint32_t> number, name, parent;
    std::vector<std::uint64_t> group;
    std::vector<std::uint8_t> origin, start, outcome; ///< or `unknown_byte`
    std::vector<std::int32_t> worker;                 ///< on which the task began, or `unknown`
    std::vector<std::int64_t> spawned, began, ended;  ///< or `unknown`
    /// Time on top of a worker's stack; `unknown` where lost events may hide a part of it.
    std::vector<std::int64_t> own;
};

/// One entry a stretch of time in which a worker ran one task. Those of one worker ascend and are disjoint.
struct segment_table {
    std::vector<std::int32_t> worker;
    std::vector<std::uint32_t> task; ///< number
    std::vector<std::int64_t> begin, end;
};

/// One entry a stretch of time in which a worker searched or slept.
struct idle_table {
    std::vector<std::int32_t> worker;
    std::vector<std::uint8_t> asleep;
    std::vector<std::int64_t> begin, end;
};

/// The longest path of all, from its beginning, one entry a stretch in one task. `begin` and `end` are
/// nanoseconds of the path.
struct critical_path {
    std::vector<row> task;
    std::vector<std::int64_t> begin, end;
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

} // namespace weft::trace
