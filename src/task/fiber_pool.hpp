#pragma once

#include "queue/spin_lock.hpp"
#include "task/fiber.hpp"

#include <atomic>
#include <cstddef>
#include <mutex>

namespace weft {

/// Free fibers of one runtime, shared by its workers; each worker has a small cache in front of it. After a
/// burst memory returns to its level, `keep` free fibers, when somebody has nothing better to do: unmapping a
/// stack stops every core that runs the process for a moment, which may cost more than the task that used it.
class fiber_pool {
public:
    using entry_fn = void (*)(boost::context::detail::transfer_t);

    fiber_pool(std::size_t stack_bytes, std::size_t keep, entry_fn entry) noexcept
        : stack_bytes_(stack_bytes)
        , keep_(keep)
        , entry_(entry) {}
    ~fiber_pool(); ///< every fiber must have been given back
    fiber_pool(const fiber_pool&) = delete;
    fiber_pool& operator=(const fiber_pool&) = delete;

    fiber* take();              ///< throws weft::error when no stack can be mapped
    void give(fiber*) noexcept; ///< suspended in its loop, holds no task
    /// Unmaps free fibers beyond `keep`, `most` of them at a time. True if there were any.
    bool trim(std::size_t most) noexcept;
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

    const std::size_t stack_bytes_;
    const std::size_t keep_;
    const entry_fn entry_;
    mutable queue::spin_lock<> lock_;
    fiber* free_ = nullptr;                  // guarded by lock_
    std::atomic<std::size_t> free_count_{0}; // written under lock_; read without it by who may be late
    std::size_t mapped_ = 0;                 // guarded by lock_
    std::size_t peak_ = 0;                   // guarded by lock_

    // Held over system calls, and taken where fibers are mapped and unmapped only.
    mutable std::mutex register_lock_;
    fiber* all_ = nullptr;       // guarded by register_lock_
    std::size_t high_water_ = 0; // of those unmapped; guarded by register_lock_
};

} // namespace weft
