#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

/// Tasks of a graph that have several workers for themselves: docs/teams.md.
namespace weft {

/// Where the workers of a team are: all in one of these.
enum class within : std::uint8_t { machine, package, memory_node, cache };

namespace impl {
struct cores_clause {
    int count;
    within where;
    bool is_relaxed = false;
    bool is_hint = false;

    /// What is idle now will do, down to the worker that has got the task.
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
/// Of the calling task.
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

/// The task has so many workers for itself and what it starts: a team. Throws weft::error, when the task is
/// added in a task of a runtime, else when the graph is started, for more workers than there are.
constexpr impl::cores_clause cores(int count, within where = within::machine) noexcept {
    return {count, where};
}

/// A body that is run once by each of so many workers, all at the same time: `body(rank, width)` with ranks
/// from 0. The task has ended when all of them have; the first exception is the task's. Without a width it is
/// run by one.
template <class F>
impl::moldable_closure<std::decay_t<F>> moldable(F&& body) {
    static_assert(std::is_invocable_v<std::decay_t<F>&, int, int>, "it is called with a rank and a width");
    return {std::forward<F>(body)};
}
/// As many, or all there are. See also weft::cores.
constexpr impl::width_clause width(int count, within where = within::machine) noexcept {
    return {{count, where, false, true}};
}
/// Exactly as many: an error if there are fewer.
constexpr impl::width_clause fixed_width(int count, within where = within::machine) noexcept {
    return {{count, where}};
}

} // namespace weft
