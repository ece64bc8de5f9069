#pragma once

#include <atomic>
#include <cstdint>

namespace weft::engine {

/// The steps on the count of a group's open children that several threads may see, rules G1 to G3 of
/// weft/impl/group.hpp. `Group` is weft::group or, in the model check, a group with watched words.
///
/// In bulk: the thief of a batch of queued children would change the count, which the task that adds children
/// changes too, once a child. It counts the children down together instead, when the next thing that it runs
/// is no child of the group, or when it finds nothing to run. Until then it runs a child of the group, which
/// is open, so the count cannot be 0, and no waiter waits longer.

/// Waiter, after its context is saved: takes its own 1 out of the count. True if that was the last: no child
/// is left to wake the waiter.
template <class Group>
bool leave_to_children(Group& g, std::uintptr_t waiter) noexcept {
    g.waiter_.store(waiter, std::memory_order_relaxed); // published by the next line (G2)
    // release: waiter_ and the saved context. acquire: what the children did, if this is the last step (G3).
    return g.open_.fetch_sub(1, std::memory_order_acq_rel) == 1; // pairs with count_children_down()
}

/// Children that have ended on this worker are counted down. True if the last was among them: the caller
/// must wake the waiter.
template <class Group>
bool count_children_down(Group& g, std::int64_t ended) noexcept {
    // release: what the children did, for the waiter. acquire: waiter_, if this is the last step (G2). Pairs
    // with itself and leave_to_children().
    return g.open_.fetch_sub(ended, std::memory_order_acq_rel) == ended;
}

/// Owner, before a wait: children are counted besides the wait still to come.
template <class Group>
bool has_open_children(const Group& g) noexcept {
    return g.open_.load(std::memory_order_acquire) != 1; // pairs with the last count_children_down() (G3)
}

/// Waiter, when all children are done: puts back the 1 for the next wait.
template <class Group>
void reopen(Group& g) noexcept {
    g.open_.store(1, std::memory_order_relaxed); // no other thread uses the group now
}

} // namespace weft::engine
