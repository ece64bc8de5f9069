#pragma once

#include "queue/cell.hpp"

#include <cstdint>

/// Whether a socket may begin another subtree: it works on one at a time (CAB's C2).
///
/// A subtree that waits for something else than its children shares the socket, since what it waits for may
/// be in a subtree that has not begun. It shares until the socket has no subtree left.
///
///   word        | writer                           | reader
///   unfinished_ | begin(), end()                   | any worker, relaxed
///   shares_     | share(); begin() of the first    | any worker, relaxed
///
/// Not here: waking the head. After end(), and after a share() that returned true, the caller wakes it. The
/// wake-up has a fence, so the head either sees the new state or is woken.
namespace weft {

class subtree_guard {
public:
    /// A subtree begins. If it is the only one, no task of another subtree is left, and none of this one has
    /// run yet: so no subtree shares the socket.
    void begin() noexcept {
        if (unfinished_.add(1) == 0) shares_.store_relaxed(false);
    }
    void end() noexcept { unfinished_.add(-1); }

    /// A subtree waits for something else than its children. False if one does already.
    bool share() noexcept {
        if (shares_.load_relaxed()) return false;
        shares_.store_relaxed(true);
        return true;
    }

    bool has_subtree() const noexcept { return unfinished_.load_relaxed() > 0; }
    bool may_begin() const noexcept { return unfinished_.load_relaxed() == 0 || shares_.load_relaxed(); }

private:
    queue::cell<std::int32_t> unfinished_; // subtrees that began here and have not ended
    queue::cell<bool> shares_;
};

} // namespace weft
