#pragma once

#include <weft/hints.hpp>
#include <weft/task_group.hpp>

#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

/// What weft::thread and weft::jthread consist of.
namespace weft::impl {

struct thread_state;

/// Identifies a thread among all that the process has started; the default one identifies none.
class thread_id {
public:
    thread_id() noexcept = default;
    friend auto operator<=>(const thread_id&, const thread_id&) noexcept = default;

private:
    friend struct std::hash<thread_id>;
    friend thread_id id_of(const thread_state*) noexcept;
    std::uint64_t number_ = 0;
};

struct thread_state {
    std::uint64_t number = 0;
    std::unique_ptr<thread_state> next{}; ///< in the list of detached threads
    task_group runs{apart};               ///< its one child is the thread; its destructor waits
};

thread_id id_of(const thread_state*) noexcept;
std::unique_ptr<thread_state> new_thread();
void join_thread(std::unique_ptr<thread_state>);
/// Keeps the state until the thread has ended.
void detach_thread(std::unique_ptr<thread_state>);
unsigned workers_for_threads();

/// F and Args are what a thread starts with, and no thread to move from, nor hints.
template <class Self, class F, class... Args>
concept StartsThread = !std::is_same_v<std::remove_cvref_t<F>, Self> &&
                       !(std::is_same_v<std::remove_cvref_t<Args>, hints> || ...);

/// A closure with copies of the function and its arguments.
template <class F, class... Args>
auto with_arguments(F&& f, Args&&... args) {
    return [own = std::tuple<std::decay_t<F>, std::decay_t<Args>...>(std::forward<F>(f),
                                                                     std::forward<Args>(args)...)]() mutable {
        std::apply([](auto&... all) { static_cast<void>(std::invoke(std::move(all)...)); }, own);
    };
}

template <class F>
std::unique_ptr<thread_state> start_thread(F&& f, const hints& given) {
    hints h = given;
    if (h.preempt == preemption::runtime_default) h.preempt = preemption::klt;
    std::unique_ptr<thread_state> made = new_thread();
    made->runs.run([own = std::decay_t<F>(
                        std::forward<F>(f))]() mutable noexcept { static_cast<void>(std::move(own)()); },
                   h);
    return made;
}

} // namespace weft::impl

template <>
struct std::hash<weft::impl::thread_id> {
    std::size_t operator()(const weft::impl::thread_id& id) const noexcept {
        return std::hash<std::uint64_t>()(id.number_);
    }
};
