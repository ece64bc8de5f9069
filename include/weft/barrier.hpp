#pragma once

#include <weft/impl/wait_queue.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace weft {

/// The default completion of a barrier: does nothing.
struct no_completion {
    void operator()() const noexcept {} ///< does nothing
};

/// Like std::barrier. A phase ends when the expected number of arrivals has been reached; the last caller to
/// arrive then calls `completion`, which must not throw, and all waiting callers continue. Waiting suspends
/// the task, not its worker.
template <class Completion = no_completion>
class barrier {
    static_assert(std::is_nothrow_invocable_v<Completion&>, "the completion of a barrier must not throw");

public:
    /// The phase at which a caller has arrived.
    using arrival_token = std::uint64_t;

    /// Each phase needs `expected` arrivals, at least 1.
    explicit barrier(std::ptrdiff_t expected, Completion completion = {})
        : expected_(expected)
        , left_(expected)
        , completion_(std::move(completion)) {}
    barrier(const barrier&) = delete;
    barrier& operator=(const barrier&) = delete;

    /// Counts as `n` arrivals and does not wait. Returns the token that wait() takes.
    [[nodiscard]] arrival_token arrive(std::ptrdiff_t n = 1) noexcept {
        queue_.lock();
        const arrival_token now = phase_;
        leave(n);
        return now;
    }
    /// Returns when the phase of the token has ended.
    void wait(arrival_token of) noexcept {
        queue_.lock();
        if (phase_ != of) return queue_.unlock();
        impl::waiter me("a barrier");
        queue_.push(me);
        queue_.unlock();
        me.sleep();
    }
    /// Arrives once and returns when the phase has ended.
    void arrive_and_wait() noexcept { wait(arrive()); }
    /// Arrives once, and lowers the expected number of arrivals by 1 from the next phase on. Does not wait.
    void arrive_and_drop() noexcept {
        queue_.lock();
        --expected_;
        leave(1);
    }

private:
    /// Called with the lock held; releases it.
    void leave(std::ptrdiff_t n) noexcept {
        left_ -= n;
        const bool last = left_ == 0;
        queue_.unlock();
        if (!last) return;
        completion_(); // every caller of this phase has arrived, and none has continued
        queue_.lock();
        left_ = expected_;
        ++phase_;
        impl::waiter* const all = queue_.pop_all();
        queue_.unlock();
        impl::wake(all);
    }

    impl::wait_queue queue_;
    std::ptrdiff_t expected_; // guarded by queue_, like the two members below
    std::ptrdiff_t left_;
    arrival_token phase_ = 0;
    [[no_unique_address]] Completion completion_;
};

} // namespace weft
