#pragma once

#include "queue/cell.hpp"

/// Whether the head of a socket may begin another subtree (L3 of laws.cpp): it counts the tasks of the
/// socket's subtree that are ready or run.
///
/// What is blocked does not count, so a subtree that waits for another cannot stop it. Tasks that yield to
/// each other count without getting on, so after many yields the head may begin one, too.
///
///   word    | writer                  | reader
///   open_   | enter(), leave()        | any worker, relaxed
///   yields_ | yielded(), may_begin()  | any worker, relaxed
///
/// Not here: waking the head. The caller does that after a leave() or a yielded() that returned true
/// (L4 of laws.cpp).
namespace weft {

class subtree_activity {
public:
    void enter() noexcept { open_.add(1); }
    /// True if that was the last one.
    bool leave() noexcept { return open_.add(-1) == 1; }
    /// True after each `yields_to_begin` yields.
    bool yielded(unsigned yields_to_begin) noexcept { return (yields_.add(1) + 1) % yields_to_begin == 0; }

    bool may_begin(unsigned yields_to_begin) noexcept {
        if (open_.load_relaxed() == 0) return true;
        if (yields_.load_relaxed() < yields_to_begin) return false;
        yields_.store_relaxed(0);
        return true;
    }

private:
    queue::cell<int> open_;
    queue::cell<unsigned> yields_; // since the head last began a subtree because of them
};

} // namespace weft
