#pragma once

#include <atomic>
#include <cstdint>

namespace weft::engine {

/// The steps on the count of a group's open children that others may see, rules G1 to G3 of
/// weft/impl/group.hpp. `Group` is weft::group or, in the model check, one with watched words.

/// Waiter, saved: leaves its own 1. True if it was the last: nobody is left to wake it.
template <class Group>
bool leave_to_children(Group& g, std::uintptr_t waiter) noexcept {
    g.waiter_.store(waiter, std::memory_order_relaxed); // published by the next line (G2)
    // release: waiter_ and the saved context. acquire: what the children did, if this is the last one (G3).
    return g.open_.fetch_sub(1, std::memory_order_acq_rel) == 1; // pairs with count_child_down()
}

/// Child: true if it was the last, and is to wake the waiter.
template <class Group>
bool count_child_down(Group& g) noexcept {
    // release: what the child did, for the waiter. acquire: waiter_, if this is the last one (G2).
    return g.open_.fetch_sub(1, std::memory_order_acq_rel) == 1; // pairs with itself, leave_to_children()
}

/// Owner, before a wait: somebody is counted besides the wait still to come.
template <class Group>
bool has_open_children(const Group& g) noexcept {
    return g.open_.load(std::memory_order_acquire) != 1; // pairs with the last count_child_down() (G3)
}

/// Waiter, when all are done: its 1 for the next wait.
template <class Group>
void reopen(Group& g) noexcept {
    g.open_.store(1, std::memory_order_relaxed); // nobody else is left
}

} // namespace weft::engine
