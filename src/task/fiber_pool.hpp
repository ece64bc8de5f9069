#pragma once

#include "queue/spin_lock.hpp"
#include "task/fiber.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>

namespace weft {

/// Free fibers of one runtime, shared by its workers; each worker has a small cache in front of the pool.
/// After a burst, idle workers unmap free fibers down to `keep`, if no other burst has come for a while. They
/// wait because unmapping a stack stops every core that runs the process for a moment, and mapping it again
/// may take longer than a task that uses it.
class fiber_pool {
public:
    using entry_fn = void (*)(arrival);
    using clock = std::chrono::steady_clock;
    /// A fiber is unmapped after it was free for this long to twice as long. A burst that comes back sooner
    /// finds its stacks; one that comes back later maps them a few times in a second at most.
    static constexpr std::chrono::milliseconds linger{250};

    fiber_pool(std::size_t stack_bytes, std::size_t keep, entry_fn entry) noexcept;
    ~fiber_pool(); ///< every fiber must have been given back
    fiber_pool(const fiber_pool&) = delete;
    fiber_pool& operator=(const fiber_pool&) = delete;

    fiber* take(); ///< throws weft::error when no stack can be mapped
    /// For the tick, which may have interrupted malloc: allocates nothing, and fails sooner. Null if there is none.
    fiber* take_quietly() noexcept;
    /// Maps `count` fibers for take_reserved(). Throws weft::error.
    void reserve(std::size_t count);
    /// For a task that must wait when take() has thrown: one of the reserve, null if there is none. This one, or
    /// another in its place, comes back by give_reserved().
    fiber* take_reserved() noexcept;
    void give_reserved(fiber*) noexcept; ///< like give(), to the reserve
    void give(fiber*) noexcept;          ///< suspended in its loop, holds no task
    /// Unmaps free fibers beyond `keep` that no worker has needed for `linger`, at most `most` of them. True
    /// if there were any. Call it often while has_spare().
    bool trim(std::size_t most, clock::time_point now) noexcept;
    /// Unmaps all free fibers beyond `keep`.
    void trim() noexcept;
    /// Gives back what a deep call has touched of the stack of a free fiber that is in no pool, or of the fiber that
    /// calls.
    void release_pages(fiber&) noexcept;
    /// Likewise of all fibers in the pool. It takes a few microseconds for each, so it is for idle workers.
    void release_pages() noexcept;
    /// True if more than `keep` are free. relaxed: a hint
    bool has_spare() const noexcept { return free_count_.load(std::memory_order_relaxed) > keep_; }
    /// True if the process can map few further stacks, and few are free: children should not be given stacks, nor be
    /// waited for. relaxed: a hint
    bool is_short() const noexcept {
        return few_fit_.load(std::memory_order_relaxed) &&
               free_count_.load(std::memory_order_relaxed) < few_stacks;
    }
    std::size_t stack_bytes() const noexcept { return stack_bytes_; }
    std::size_t mapped() const noexcept; ///< fibers alive now, without the reserve
    std::size_t peak() const noexcept;   ///< most fibers alive at once so far
    /// The most bytes, in whole pages, that any fiber has used of its stack so far, including the runtime's
    /// own needs. It asks the kernel about each mapped fiber. destroy() and release_pages() ask about theirs
    /// before they give pages back, or the figure would miss what bursts need.
    std::size_t stack_high_water() const;

private:
    static constexpr std::size_t few_stacks = 32;

    fiber* make();
    /// Looks whether few stacks fit.
    void take_stock() noexcept;
    fiber* pop() noexcept;      // with lock_ held
    void push(fiber*) noexcept; // with lock_ held
    void destroy(fiber*) noexcept;
    /// Takes up to `most` fibers beyond `keep` out of the pool and returns them as a list.
    fiber* spare(std::size_t most) noexcept; // with lock_ held
    void destroy_all(fiber* list) noexcept;

    const std::size_t stack_bytes_;
    const std::size_t keep_;
    const entry_fn entry_;
    mutable queue::spin_lock<> lock_;
    fiber* free_ = nullptr;                  // guarded by lock_
    fiber* reserve_ = nullptr;               // guarded by lock_
    std::atomic<std::size_t> free_count_{0}; // written under lock_; has_spare() reads it without, relaxed
    std::atomic<bool> few_fit_{false};       // see is_short()
    std::size_t mapped_ = 0;                 // guarded by lock_
    std::size_t peak_ = 0;                   // guarded by lock_
    // Periods of `linger` or more; guarded by lock_.
    clock::time_point period_began_ = clock::now();
    std::size_t fewest_ = 0; // fewest free at once in this period
    std::size_t unused_ = 0; // free all through the last period, and since

    // Held over system calls; taken only where fibers are mapped and unmapped.
    mutable std::mutex register_lock_;
    fiber* all_ = nullptr;       // guarded by register_lock_
    std::size_t high_water_ = 0; // of pages that were given back; guarded by register_lock_
};

} // namespace weft
