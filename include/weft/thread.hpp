#pragma once

#include <weft/hints.hpp>
#include <weft/impl/user_thread.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weft {

/// A thread like std::thread, run by the workers of the default runtime, or by those of the runtime that the caller is a task of. It is a
/// task of type preemption::klt, if the hints name no other type, so any number of threads make progress together, even if they
/// wait for each other in loops. Starting one costs about as much as async(). docs/preemption.md
class thread {
public:
    using id = impl::thread_id; ///< identifies a thread among all that the process has started

    thread() noexcept = default; ///< no thread
    /// Calls `f(args...)` in a new thread, with copies of the arguments. An exception that leaves `f` ends the program. Throws
    /// weft::error or std::bad_alloc if there is no memory.
    template <class F, class... Args>
        requires(impl::StartsThread<thread, F, Args...> &&
                 std::invocable<std::decay_t<F>, std::decay_t<Args>...>)
    explicit thread(F&& f, Args&&... args)
        : thread(impl::with_arguments(std::forward<F>(f), std::forward<Args>(args)...), hints{}) {}
    /// The same with hints.
    template <std::invocable F>
    thread(F&& f, const hints& h) : state_(impl::start_thread(std::forward<F>(f), h)) {}
    thread(thread&&) noexcept = default; ///< leaves the other one without a thread
    /// Ends the program if this thread is joinable.
    thread& operator=(thread&& other) noexcept {
        if (joinable()) std::terminate();
        state_ = std::move(other.state_);
        return *this;
    }
    ~thread() { ///< likewise
        if (joinable()) std::terminate();
    }

    /// Whether it has a thread that was neither joined nor detached.
    bool joinable() const noexcept { return state_ != nullptr; }
    /// That of no thread if it is not joinable.
    id get_id() const noexcept { return impl::id_of(state_.get()); }
    /// Waits until the thread has ended. Waiting suspends the calling task, not its worker. Throws weft::error if it is not
    /// joinable.
    void join() { impl::join_thread(std::exchange(state_, nullptr)); }
    void detach() { impl::detach_thread(std::exchange(state_, nullptr)); } ///< throws likewise
    /// Exchanges the threads of the two.
    void swap(thread& other) noexcept { state_.swap(other.state_); }
    /// Likewise.
    friend void swap(thread& a, thread& b) noexcept { a.swap(b); }
    /// The number of workers that run the threads.
    static unsigned hardware_concurrency() { return impl::workers_for_threads(); }

private:
    std::unique_ptr<impl::thread_state> state_;
};

/// The same with a stop token, like std::jthread: the destructor asks the thread to stop, and joins it.
class jthread {
public:
    using id = thread::id; ///< as of weft::thread

    jthread() noexcept : stop_(std::nostopstate) {} ///< no thread
    /// As for weft::thread. If `f` takes a std::stop_token in front of the arguments, it gets that of this thread.
    template <class F, class... Args>
        requires(impl::StartsThread<jthread, F, Args...> &&
                 (std::invocable<std::decay_t<F>, std::decay_t<Args>...> ||
                  std::invocable<std::decay_t<F>, std::stop_token, std::decay_t<Args>...>))
    explicit jthread(F&& f, Args&&... args) {
        if constexpr (std::invocable<std::decay_t<F>, std::stop_token, std::decay_t<Args>...>)
            runs_ = thread(std::forward<F>(f), stop_.get_token(), std::forward<Args>(args)...);
        else
            runs_ = thread(std::forward<F>(f), std::forward<Args>(args)...);
    }
    /// The same with hints.
    template <class F>
        requires(std::invocable<F> || std::invocable<F, std::stop_token>)
    jthread(F&& f, const hints& h) {
        if constexpr (std::invocable<F, std::stop_token>)
            runs_ = thread(impl::with_arguments(std::forward<F>(f), stop_.get_token()), h);
        else
            runs_ = thread(std::forward<F>(f), h);
    }
    jthread(jthread&&) noexcept = default; ///< leaves the other one without a thread
    /// Asks the thread that it replaces to stop, and joins it.
    jthread& operator=(jthread&& other) noexcept {
        if (this == &other) return *this;
        stop_and_join();
        runs_ = std::move(other.runs_);
        stop_ = std::move(other.stop_);
        return *this;
    }
    ~jthread() { stop_and_join(); } ///< asks the thread to stop, and joins it

    /// Whether it has a thread that was neither joined nor detached.
    bool joinable() const noexcept { return runs_.joinable(); }
    /// That of no thread if it is not joinable.
    id get_id() const noexcept { return runs_.get_id(); }
    void join() { runs_.join(); }     ///< throws weft::error if it is not joinable
    void detach() { runs_.detach(); } ///< likewise
    /// The source of the token that the thread got.
    std::stop_source get_stop_source() noexcept { return stop_; }
    /// A token of that source.
    std::stop_token get_stop_token() const noexcept { return stop_.get_token(); }
    /// Asks the thread to stop; true if this is the first request.
    bool request_stop() noexcept { return stop_.request_stop(); }
    /// Exchanges the threads of the two.
    void swap(jthread& other) noexcept {
        runs_.swap(other.runs_);
        stop_.swap(other.stop_);
    }
    /// Likewise.
    friend void swap(jthread& a, jthread& b) noexcept { a.swap(b); }
    /// The number of workers that run the threads.
    static unsigned hardware_concurrency() { return thread::hardware_concurrency(); }

private:
    void stop_and_join() noexcept {
        if (!joinable()) return;
        request_stop();
        join();
    }

    std::stop_source stop_{};
    thread runs_{};
};

} // namespace weft
