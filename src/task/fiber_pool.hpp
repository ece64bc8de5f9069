#pragma once

#include "queue/spin_lock.hpp"
#include "task/fiber.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>

namespace weft {

/// Free fibers of one runtime, shared by its workers; each worker has a small cache in front of it. After a
/// burst memory returns to its level, `keep` free fibers, when somebody has nothing better to do and no other
/// burst has come for a while: unmapping a stack stops every core that runs the process for a moment, and to
/// map it again takes longer than a task that uses it may.
class fiber_pool {
public:
    using entry_fn = void (*)(boost::context::detail::transfer_t);
    using clock = std::chrono::steady_clock;
    /// A fiber that is free for that long, at most twice, is unmapped: a burst that comes again sooner finds
    /// its stacks, and one that comes later maps them a few times in a second.
    static constexpr std::chrono::milliseconds linger{250};

    fiber_pool(std::size_t stack_bytes, std::size_t keep, entry_fn entry) noexcept
        : stack_bytes_(stack_bytes)
        , keep_(keep)
        , entry_(entry) {}
    ~fiber_pool(); ///< every fiber must have been given back
    fiber_pool(const fiber_pool&) = delete;
    fiber_pool& operator=(const fiber_pool&) = delete;

    fiber* take();              ///< throws weft::error when no stack can be mapped
    void give(fiber*) noexcept; ///< suspended in its loop, holds no task
    /// Unmaps free fibers beyond `keep` that nobody has needed for `linger`, `most` of them at a time. True
    /// if there were any. To be called often while has_spare().
    bool trim(std::size_t most, clock::time_point now) noexcept;
    /// Unmaps all free fibers beyond `keep`.
    void trim() noexcept;
    /// More than `keep` are free. A hint.
    bool has_spare() const noexcept { return free_count_.load(std::memory_order_relaxed) > keep_; }
    std::size_t stack_bytes() const noexcept { return stack_bytes_; }
    std::size_t mapped() const noexcept; ///< fibers alive now
    std::size_t peak() const noexcept;   ///< most fibers alive at once so far
    /// The most bytes, in whole pages, that any fiber has used of its stack so far, the runtime's own needs
    /// included. Asks the kernel about each fiber that is alive; those unmapped were asked about then, or the
    /// figure would miss what bursts need.
    std::size_t stack_high_water() const;

private:
    fiber* make();
    fiber* pop() noexcept;      // with lock_ held
    void push(fiber*) noexcept; // with lock_ held
    void destroy(fiber*) noexcept;
    /// Up to `most` beyond `keep` leave the pool, in a list.
    fiber* spare(std::size_t most) noexcept; // with lock_ held
    void destroy_all(fiber* list) noexcept;

    const std::size_t stack_bytes_;
    const std::size_t keep_;
    const entry_fn entry_;
    mutable queue::spin_lock<> lock_;
    fiber* free_ = nullptr;                  // guarded by lock_
    std::atomic<std::size_t> free_count_{0}; // written under lock_; read without it by who may be late
    std::size_t mapped_ = 0;                 // guarded by lock_
    std::size_t peak_ = 0;                   // guarded by lock_
    // Periods of `linger` or more; guarded by lock_.
    clock::time_point period_began_ = clock::now();
    std::size_t fewest_ = 0; // free at once in this period
    std::size_t unused_ = 0; // free through all of the last period, and since

    // Held over system calls, and taken where fibers are mapped and unmapped only.
    mutable std::mutex register_lock_;
    fiber* all_ = nullptr;       // guarded by register_lock_
    std::size_t high_water_ = 0; // of those unmapped; guarded by register_lock_
};

} // namespace weft
