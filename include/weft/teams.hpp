#pragma once

#include <weft/concepts.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

/// Tasks of a graph that have several workers for themselves: docs/teams.md.
namespace weft {

/// The place in which all workers of a team are.
enum class within : std::uint8_t { machine, package, memory_node, cache };

namespace impl {
struct cores_clause {
    int count;
    within where;
    bool is_relaxed = false;
    bool is_hint = false;

    /// Accepts fewer workers: those that are idle now, at least the worker that got the task.
    constexpr cores_clause relaxed() const noexcept {
        cores_clause c = *this;
        c.is_relaxed = true;
        return c;
    }
};

struct width_clause : cores_clause {};

struct share {
    int rank, width;
};
/// The share of the calling task.
share share_of_task() noexcept;

template <class F>
struct moldable_closure {
    F body;
    void operator()() {
        const share own = share_of_task();
        body(own.rank, own.width);
    }
};
template <class>
inline constexpr bool is_moldable = false;
template <class F>
inline constexpr bool is_moldable<moldable_closure<F>> = true;
} // namespace impl

/// The task gets a team of `count` workers for itself and everything that it starts. Throws weft::error for
/// more workers than there are: when the task is added, if that is done by a task of a runtime; otherwise
/// when the graph is started.
constexpr impl::cores_clause cores(int count, within where = within::machine) noexcept {
    return {count, where};
}

/// A body that each worker of a team runs once, all at the same time: `body(rank, width)` with ranks from 0.
/// The task has ended when all calls have ended. The first exception is the task's exception. Without a
/// width, one worker runs the body.
template <TeamBody F>
impl::moldable_closure<std::decay_t<F>> moldable(F&& body) {
    return {std::forward<F>(body)};
}
/// @cond
template <class F>
    requires(!TeamBody<F>)
impl::not_a::TeamBody moldable(F&&)
    WEFT_REJECTED("TeamBody: the body is moved or copied into the task, and called with a rank and a width");
/// @endcond
/// The width of a moldable task: `count` workers, or all if there are fewer. See also weft::cores.
constexpr impl::width_clause width(int count, within where = within::machine) noexcept {
    return {{count, where, false, true}};
}
/// The width of a moldable task: exactly `count` workers; weft::error if there are fewer.
constexpr impl::width_clause fixed_width(int count, within where = within::machine) noexcept {
    return {{count, where}};
}

} // namespace weft
