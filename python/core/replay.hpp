#pragma once

#include "trace/record.hpp"

#include <cstdint>
#include <span>
#include <vector>

/// What the records of a trace come to: docs/trace-format.md, "What a worker does when".
namespace weft::trace {

inline constexpr std::int64_t unknown = -1;

/// One entry a task, by first mention. Times in nanoseconds.
struct task_table {
    std::vector<std::uint32_t> number, name, parent;
    std::vector<std::uint64_t> group;
    std::vector<std::uint8_t> origin, start, outcome; ///< 255: unknown
    std::vector<std::int32_t> worker;                 ///< on which it began, or `unknown`
    std::vector<std::int64_t> spawned, began, ended;  ///< or `unknown`
    std::vector<std::int64_t> own;  ///< on top of a worker's stack; `unknown` where lost events may hide some
    std::vector<std::int64_t> path; ///< the longest path up to its end, or up to where the trace ends
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

struct replayed {
    std::vector<std::uint32_t> order; ///< of the records: by time, and a cause before its effects
    task_table tasks;
    segment_table segments;
    idle_table idle;
    std::int64_t first = 0, last = 0; ///< times of the first and the last event
    std::int64_t span = 0;            ///< the longest path of all
    std::uint64_t disorder = 0;       ///< events whose cause does not come before them
};

/// `records` in the order of the file, of the streams 0 to workers - 1 and `outside`. Takes any records
/// without harm. `complete`: nothing came behind the last of them. Throws std::bad_alloc.
replayed replay(std::span<const record> records, int workers, bool complete);

} // namespace weft::trace
