#pragma once

#include "queue/list_hook.hpp"
#include "queue/sync.hpp"

#include <weft/impl/group.hpp>

#include <atomic>
#include <cstdint>

/// The children that threads outside add to a group. They are collected in the group, and one root, the *adder*,
/// spawns them as its own children, so the policy sees them as it sees the children that any task adds. An adder
/// ends when it has spawned all there is. The next child from outside then makes another one.
namespace weft::engine {

struct engine;

/// The word `group::outside_`.
///
///   value    | meaning                                            | written by
///   none     | no adder: the thread that adds a child makes one   | the adder, at its end
///   empty    | an adder, and nothing new for it                   | the adder, when it takes all
///   a child  | an adder, and the child that came last             | the thread that adds the child
///
/// N1 There is at most one adder that takes children: it exists from the step that leaves `none` to the step that
///    comes back to it.
/// N2 A child that was added before the adder's last step is taken by that adder: that step fails if there is one.
template <class Child, class Sync = queue::std_sync>
class outside_children {
public:
    using word = typename Sync::template atomic<std::uintptr_t>;
    static constexpr std::uintptr_t none = 0, empty = 1;

    /// True if the caller must make an adder.
    static bool add(word& children, Child& c) noexcept {
        std::uintptr_t last = children.load(std::memory_order_relaxed); // the exchange decides
        do {
            link(c).set(last > empty ? reinterpret_cast<Child*>(last) : nullptr);
            // release: the child and its link, for take()
        } while (!children.compare_exchange_strong(last, reinterpret_cast<std::uintptr_t>(&c),
                                                   std::memory_order_release, std::memory_order_relaxed));
        return last == none;
    }
    /// Adder: all children since the last call, the one that came first in front; null if there are none, and then
    /// the adder takes no more (N1).
    static Child* take(word& children) noexcept {
        std::uintptr_t last = empty;
        // It fails if a child was added (N2). relaxed: it takes nothing
        if (children.compare_exchange_strong(last, none, std::memory_order_relaxed,
                                             std::memory_order_relaxed))
            return nullptr;
        // acquire: pairs with the release in add(), also for the children that were added before the last one
        last = children.exchange(empty, std::memory_order_acquire);
        Child* first = nullptr;
        for (auto* c = reinterpret_cast<Child*>(last); c != nullptr;) {
            auto* const before = static_cast<Child*>(link(*c).get());
            link(*c).set(first);
            first = c;
            c = before;
        }
        return first;
    }
    /// The child that came after `c`, of those that one take() has returned.
    static Child* next(Child& c) noexcept { return static_cast<Child*>(link(c).get()); }

private:
    static auto& link(Child& c) noexcept { return queue::member_link::of(c).next; }
};

/// Adds a child to a group of the engine's, in a thread that is no worker.
void add_from_outside(engine&, group&, task& child);

} // namespace weft::engine
