#pragma once

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

/// The result to come of async(). Movable; for one task at a time. Its destructor waits for the task, so what
/// the task refers to must outlive the future; an exception that no get() took goes with it.
template <class T>
class [[nodiscard]] future {
public:
    future() noexcept = default;

    /// Is there a result to come? Where it never was, was moved away or taken by get(), all other members
    /// throw weft::error.
    bool valid() const noexcept { return state_ != nullptr; }

    /// Is the result there?
    bool is_ready() const {
        state& s = there();
        s.waiting.lock();
        const bool ready = s.ready;
        s.waiting.unlock();
        return ready;
    }
    /// Suspends the calling task until the result is there.
    void wait() const {
        impl::waiter me("a future");
        if (!there().ready_or_queue(me)) me.sleep();
    }
    /// The same, but not longer than that. Throws weft::error also when there is no timer to be had.
    template <class Rep, class Period>
    std::future_status wait_for(std::chrono::duration<Rep, Period> at_most) const {
        impl::waiter me("a future");
        state& s = there();
        return s.ready_or_queue(me) || me.sleep_for(s.waiting, impl::at_most(at_most))
                   ? std::future_status::ready
                   : std::future_status::timeout;
    }
    /// As wait_for(), up to a point in time.
    template <class Clock, class Duration>
    std::future_status wait_until(std::chrono::time_point<Clock, Duration> end) const {
        return wait_for(end - Clock::now());
    }

    /// Waits, and returns the result or rethrows the exception of the task. Once: the future is empty then.
    T get() {
        wait();
        const std::unique_ptr<state> s = std::move(state_);
        if (s->error) std::rethrow_exception(std::exchange(s->error, nullptr));
        if constexpr (!std::is_void_v<T>) return std::move(*s->result);
    }

private:
    template <class F>
    friend auto async(F&& f, const hints& h);

    struct state {
        impl::wait_queue waiting;
        bool ready = false; // guarded by waiting
        std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>> result;
        std::exception_ptr error;
        task_group group{impl::apart}; // destroyed first, and so waited for: its child uses the rest

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

/// Runs `f()` as a task that belongs to no group and is not cancelled with any; its result, or its exception,
/// comes through the future. `f` is moved (or copied) into the task. In a thread that is no worker it runs in
/// the default runtime. Under a depth-first policy it begins at once, and the rest of the caller can be
/// stolen meanwhile.
template <class F>
auto async(F&& f, const hints& h) {
    using T = std::decay_t<std::invoke_result_t<std::decay_t<F>&>>;
    future<T> to_come;
    to_come.state_ = std::make_unique<typename future<T>::state>();
    to_come.state_->group.run(
        [s = to_come.state_.get(), own = std::decay_t<F>(std::forward<F>(f))]() mutable { s->run(own); }, h);
    return to_come;
}
/// The same without hints.
template <class F>
auto async(F&& f) {
    return async(std::forward<F>(f), no_hints);
}

} // namespace weft
