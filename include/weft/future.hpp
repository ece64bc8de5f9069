#pragma once

#include <weft/concepts.hpp>
#include <weft/error.hpp>
#include <weft/impl/wait_queue.hpp>
#include <weft/task_group.hpp>

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace weft {

/// The future result of async(). Movable; used by one task or thread at a time. The destructor waits for the
/// task, so objects to which the task refers must outlive the future. An exception that get() did not fetch
/// is dropped by the destructor.
template <class T>
class [[nodiscard]] future {
public:
    future() noexcept = default;

    /// True unless the future was default-constructed, moved from, or emptied by get(). If it is false, all
    /// other members throw weft::error.
    bool valid() const noexcept { return state_ != nullptr; }

    /// True if the task has ended.
    bool is_ready() const {
        state& s = there();
        s.waiting.lock();
        const bool ready = s.ready;
        s.waiting.unlock();
        return ready;
    }
    /// Returns when the task has ended. Waiting suspends the calling task, not its worker.
    void wait() const {
        impl::waiter me("a future");
        if (!there().ready_or_queue(me)) me.sleep();
    }
    /// Like wait(), but returns std::future_status::timeout if the task has not ended after `at_most`. Throws
    /// weft::error if the system provides no timer.
    template <class Rep, class Period>
    std::future_status wait_for(std::chrono::duration<Rep, Period> at_most) const {
        impl::waiter me("a future");
        state& s = there();
        return s.ready_or_queue(me) || me.sleep_for(s.waiting, impl::at_most(at_most))
                   ? std::future_status::ready
                   : std::future_status::timeout;
    }
    /// Like wait_for(), until the point in time `end`.
    template <class Clock, class Duration>
    std::future_status wait_until(std::chrono::time_point<Clock, Duration> end) const {
        return wait_for(end - Clock::now());
    }

    /// Waits, and returns the result or rethrows the exception of the task. Afterwards the future is empty.
    T get() {
        wait();
        const std::unique_ptr<state> s = std::move(state_);
        if (s->error) std::rethrow_exception(std::exchange(s->error, nullptr));
        if constexpr (!std::is_void_v<T>) return std::move(*s->result);
    }

private:
    template <TaskWithResult F>
    friend auto async(F&& f, const hints& h);

    struct state {
        impl::wait_queue waiting;
        bool ready = false; // guarded by waiting
        std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>> result;
        std::exception_ptr error;
        task_group group{
            impl::apart}; // destroyed, and so waited for, first: its child uses the other members

        bool ready_or_queue(impl::waiter& me) noexcept {
            waiting.lock();
            const bool is = ready;
            if (!is) waiting.push(me);
            waiting.unlock();
            return is;
        }
        template <class F>
        void run(F& f) noexcept {
            try {
                if constexpr (std::is_void_v<T>)
                    f(), result.emplace();
                else
                    result.emplace(f());
            } catch (...) { error = std::current_exception(); }
            waiting.lock();
            ready = true;
            impl::waiter* const all = waiting.pop_all();
            waiting.unlock();
            impl::wake(all);
        }
    };

    state& there() const {
        if (!state_)
            throw error("a future without a result was asked for it", "a future that is empty",
                        "a future that async() returned, once, and that was not moved from");
        return *state_;
    }

    std::unique_ptr<state> state_;
};

/// Runs `f()` as a task that belongs to no group, so no cancellation of a group reaches it. The future
/// returns its result or its exception. `f` is moved (or copied) into the task. If the caller is a thread
/// that is no worker, the task runs in the default runtime. Under a depth-first policy the task begins at
/// once, and thieves can steal the rest of the caller meanwhile; once thieves have taken a caller that makes many futures,
/// its further tasks are queued. Throws what the move of `f` throws,
/// std::bad_alloc, and weft::error if no stack is available.
template <TaskWithResult F>
auto async(F&& f, const hints& h) {
    using T = std::decay_t<std::invoke_result_t<std::decay_t<F>&>>;
    future<T> to_come;
    to_come.state_ = std::make_unique<typename future<T>::state>();
    to_come.state_->group.run(
        [s = to_come.state_.get(), own = std::decay_t<F>(std::forward<F>(f))]() mutable { s->run(own); }, h);
    return to_come;
}
/// The same without hints.
template <TaskWithResult F>
auto async(F&& f) {
    return async(std::forward<F>(f), no_hints);
}

/// @cond
template <class F>
    requires(!TaskWithResult<F>)
impl::not_a::TaskWithResult async(F&&, const hints& = {}) WEFT_REJECTED(
    "TaskWithResult: f is moved or copied into the task, called there without arguments, and returns void or "
    "a movable value");
/// @endcond

} // namespace weft
