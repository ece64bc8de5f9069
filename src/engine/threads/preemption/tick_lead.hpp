#pragma once

#include <atomic>

namespace weft::engine {

/// Which member of a group *leads*, that is, has the timer whose ticks go to all members: README.md, "Ticks" (Y6). A template, so
/// that the model check runs the same steps.
///
///   word          | written by                     | read by
///   leader_       | a member that finds none; null | members
///                 | by the member that leads       |
///   Member::ticks | the member: it needs ticks     | the leader that gives up
///
/// All accesses are sequentially consistent: a member sets `ticks` and then reads the leader; a leader that gives up clears the
/// leader and then reads `ticks`. So the member finds no leader, or is sent a tick, at which it tries to take the lead.
template <class Sync, class Member>
class tick_lead {
public:
    static void needs_ticks(Member& m, bool needed) noexcept {
        m.ticks.store(
            needed,
            std::memory_order_seq_cst); // before the look in take(): pairs with that in give_up() (Y6)
    }

    /// Makes `m` the leader if there is none; true if it has become the leader.
    bool take(Member& m) noexcept {
        Member* none = nullptr;
        // pairs with the store in give_up() (Y6)
        return leader_.load(std::memory_order_seq_cst) == nullptr &&
               leader_.compare_exchange_strong(none, &m, std::memory_order_seq_cst,
                                               std::memory_order_relaxed);
    }

    /// `m` needs no ticks from here on. If it leads, calls `stop()`, gives the lead up, and calls `send` for each member that
    /// needs ticks. `members(f)` calls `f` with each member of the group.
    template <class Stop, class Members, class Send>
    void give_up(Member& m, Stop&& stop, Members&& members, Send&& send) noexcept {
        needs_ticks(m, false);
        if (!is_led_by(m)) return;
        stop();
        leader_.store(
            nullptr, std::memory_order_seq_cst); // before the looks below: pairs with the load in take() (Y6)
        members([&](Member& other) {
            if (other.ticks.load(std::memory_order_seq_cst)) send(other); // pairs with needs_ticks() (Y6)
        });
    }

    /// Of the calling member. relaxed: no other member makes it the leader, or ends that.
    bool is_led_by(const Member& m) const noexcept { return leader_.load(std::memory_order_relaxed) == &m; }
    /// Of any member: a hint.
    const Member* leader() const noexcept { return leader_.load(std::memory_order_relaxed); }

private:
    typename Sync::template atomic<Member*> leader_{nullptr};
};

} // namespace weft::engine
