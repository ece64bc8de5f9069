#pragma once

#include <weft/impl/wait_queue.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace weft {

/// The completion of a barrier that has nothing to do between two phases.
struct no_completion {
    void operator()() const noexcept {} ///< nothing
};

/// As std::barrier: phase after phase, each ends when as many have arrived as are expected; then the last of
/// them calls `completion`, and all go on. Waiting suspends the task, not its worker.
template <class Completion = no_completion>
class barrier {
    static_assert(std::is_nothrow_invocable_v<Completion&>, "the completion of a barrier must not throw");

public:
    /// Which phase one has arrived at.
    using arrival_token = std::uint64_t;

    /// For `expected` arrivals a phase.
    explicit barrier(std::ptrdiff_t expected, Completion completion = {})
        : expected_(expected)
        , left_(expected)
        , completion_(std::move(completion)) {}
    barrier(const barrier&) = delete;
    barrier& operator=(const barrier&) = delete;

    /// Counts as `n` arrivals and does not wait; wait() takes what it returns.
    [[nodiscard]] arrival_token arrive(std::ptrdiff_t n = 1) noexcept {
        queue_.lock();
        const arrival_token now = phase_;
        leave(n);
        return now;
    }
    /// Waits for the end of that phase.
    void wait(arrival_token of) noexcept {
        queue_.lock();
        if (phase_ != of) return queue_.unlock();
        impl::waiter me("a barrier");
        queue_.push(me);
        queue_.unlock();
        me.sleep();
    }
    /// Arrives and waits for the end of the phase.
    void arrive_and_wait() noexcept { wait(arrive()); }
    /// Arrives for the last time: from the next phase on one fewer is expected.
    void arrive_and_drop() noexcept {
        queue_.lock();
        --expected_;
        leave(1);
    }

private:
    /// Under the lock, which it leaves.
    void leave(std::ptrdiff_t n) noexcept {
        left_ -= n;
        const bool last = left_ == 0;
        queue_.unlock();
        if (!last) return;
        completion_(); // all others of this phase have arrived, and none has left
        queue_.lock();
        left_ = expected_;
        ++phase_;
        impl::waiter* const all = queue_.pop_all();
        queue_.unlock();
        impl::wake(all);
    }

    impl::wait_queue queue_;
    std::ptrdiff_t expected_; // guarded by queue_, as what follows
    std::ptrdiff_t left_;
    arrival_token phase_ = 0;
    [[no_unique_address]] Completion completion_;
};

} // namespace weft
