#pragma once

#include "queue/spin_lock.hpp"

#include <atomic>
#include <cstdint>
#include <thread>

namespace weft::engine {

/// Notices that a worker has been inside of one closure of a skipped fork (engine/run/skipped_forks.hpp) for a millisecond or
/// more, and asks it to note events again: a thread that stores 0 to its `limit`, so that the worker's next fork takes its slow
/// path. An overwritten request comes again a millisecond later.
class skip_watch {
public:
    skip_watch(); ///< Throws weft::error if the thread cannot be made.
    ~skip_watch();
    skip_watch(const skip_watch&) = delete;
    skip_watch& operator=(const skip_watch&) = delete;

    // By the worker, in the runtime: the lock must not be held when a tick comes.

    /// A closure begins. `limit` is the worker's.
    void begins(std::atomic<std::uintptr_t>& limit) noexcept;
    void ends() noexcept; ///< from now on no store comes
    /// Since the last begins(). Relaxed: late is as good.
    bool asks() const noexcept { return asks_.load(std::memory_order_relaxed); }

private:
    void run() noexcept;

    std::atomic<bool> asks_{false};
    queue::spin_lock<> lock_;
    // ---- under lock_
    std::atomic<std::uintptr_t>* limit_ = nullptr; ///< null: outside
    std::uint64_t begun_ = 0;                      ///< closures

    std::atomic<std::uint32_t> stop_{0}; ///< futex
    std::thread thread_;
};

} // namespace weft::engine
