#pragma once

#include <cstdint>

namespace weft::engine {

/// Counts what the calling thread's code asks of the last cache, by the processor: the misses of the caches
/// before it. One for each thread that makes it; it counts until it is destroyed.
class miss_counter {
public:
    /// Whether this thread can have one: there are counters, and this process may read them.
    static bool can_be_had() noexcept;

    miss_counter() noexcept;
    ~miss_counter();
    miss_counter(const miss_counter&) = delete;
    miss_counter& operator=(const miss_counter&) = delete;

    /// So far; 0 where none can be had.
    std::uint64_t read() const noexcept;

private:
    int file_;
};

} // namespace weft::engine
