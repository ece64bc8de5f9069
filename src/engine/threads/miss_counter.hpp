#pragma once

#include "task/task.hpp"

namespace weft::engine {

/// Counts what the calling thread's code asks of the last cache, by the processor: the misses of the caches
/// before it. And beside them, if the processor can do both at a time, the instructions of that code. One for
/// each thread that makes it; it counts until it is destroyed.
class miss_counter {
public:
    struct known {
        bool misses, instructions;
    };
    /// What this thread can have: there are counters, and this process may read them. No instructions without
    /// misses.
    static known can_be_had() noexcept;

    miss_counter() noexcept;
    ~miss_counter();
    miss_counter(const miss_counter&) = delete;
    miss_counter& operator=(const miss_counter&) = delete;

    /// So far; 0 where none can be had.
    task_counts read() const noexcept;

private:
    int misses_, instructions_; ///< files; of one group, which is counted, and read, as one
};

} // namespace weft::engine
