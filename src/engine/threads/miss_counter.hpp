#pragma once

#include "task/task.hpp"

namespace weft::engine {

/// Counts, by the processor's counters, the accesses of the calling thread's user code to the last cache,
/// which are the misses of the caches before it. If the processor can count both at a time, it counts the
/// instructions of that code too. It counts for the thread that constructs it, until it is destroyed.
class miss_counter {
public:
    struct available {
        bool misses, instructions;
    };
    /// What can be counted here: the processor has the counters, and this process may read them. Instructions
    /// are counted only beside misses.
    static available available_here() noexcept;

    miss_counter() noexcept;
    ~miss_counter();
    miss_counter(const miss_counter&) = delete;
    miss_counter& operator=(const miss_counter&) = delete;

    /// Counts since the construction; 0 for what is not available.
    task_counts read() const noexcept;

private:
    int misses_,
        instructions_; ///< file descriptors of one group, which is counted and read as one; -1: not available
};

} // namespace weft::engine
