#pragma once

#include "engine/worker/ranks.hpp"
#include "policy/seam/policy.hpp"
#include "queue/worker_set.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

namespace weft::engine {

/// Announcing work, parking and becoming inactive without losing a wake-up. README.md has the protocol
/// ("Sleep", "Inactive workers") and the proof, whose arguments S1 to S6 are cited where a step upholds them.
/// A template, so that the model check runs the same steps.
///
/// `members[w]` is a worker with a `parker` and a word `pending_wakes`: the range of workers for which
/// something was announced and left to w, or for which w was woken. A worker that gets busy passes it on: it
/// wakes another of them.
///
/// word          | writer                                      | readers    | order
/// searching     | each worker its own rank                    | announcers | seq_cst, see worker_set
/// parked        | each worker its own rank; wakers erase      | wakers     | seq_cst, see worker_set
/// pending_wakes | announcers and wakers add, the worker takes | the worker | seq_cst; taken by acq_rel
/// active_count  | resize()                                    | all        | seq_cst; relaxed after fences
template <class Members, class Sync = queue::std_sync>
struct sleep_protocol {
    queue::worker_set<Sync>& searching;
    queue::worker_set<Sync>& parked;
    Members& members;
    typename Sync::template atomic<int>& active_count;
    /// A worker that passes a wake on leaves it to a worker that searches, if there is one, as an announcer does.
    bool passes_to_searchers = false;

    bool is_active(worker_id w) const noexcept {
        return w <
               active_count.load(std::memory_order_relaxed); // resize() wakes the workers that it concerns
    }

    /// Announces a task that worker `near` has placed and the workers of the range may run. If a searching
    /// worker is left to find it, returns that worker: it must not go on waiting for an answer to an ask.
    std::optional<std::uint32_t> announce(workers range, worker_id near) noexcept {
        if (range.empty()) return std::nullopt;
        // F of README.md: between the write of the place and the looks at the sets (S1). A worker that parks
        // inserts itself before its last look, with a fence in between.
        Sync::fence(std::memory_order_seq_cst);
        range = active_part(range); // read after the fence (S6)
        if (const auto searcher = leave_to_searcher(range, near)) return searcher;
        wake_one(range, near);
        return std::nullopt;
    }

    /// The worker has found a task: passes on the wakes that were left to it while it searched (S2, S3).
    void stop_searching(worker_id w) noexcept {
        searching.erase(
            rank(w)); // seq_cst, before pending_wakes is read: pairs with the second fence of announce()
        static_cast<void>(pass_on(w));
    }

    /// The worker has found nothing: it arms its parker, inserts itself into `parked`, calls `ask()`, and looks
    /// once more. True if `look()` does not say that there is something: the worker may sleep (S1). In either case
    /// end_parking() follows, when the worker has slept.
    template <class Ask, class Look>
    bool begin_parking(worker_id w, Ask&& ask, Look&& look) {
        members[rank(w)]->parker.arm();
        parked.insert(rank(w));
        Sync::fence(std::memory_order_seq_cst); // before the last look: pairs with F of announce()
        ask();
        return !look();
    }
    void end_parking(worker_id w) noexcept {
        members[rank(w)]->parker.disarm();
        parked.erase(rank(w));
    }

    /// The worker stops searching without a task and goes where these members cannot reach it: into a team,
    /// or to wait while it is inactive (S4).
    void leave(worker_id w) noexcept {
        searching.erase(rank(w)); // as in stop_searching()
        // A wake that is pending at it is passed on. If it was woken without one (policy_context::wake),
        // another active worker looks instead.
        if (!pass_on(w)) wake_one({0, active_count.load(std::memory_order_relaxed)}, w); // a hint
    }

    /// The worker is not active: it leaves `searching` and sleeps until it is active again, or `stops()` is
    /// true.
    template <class Stops>
    void wait_inactive(worker_id w, Stops&& stops) {
        leave(w);
        auto& parker = members[rank(w)]->parker;
        for (;;) {
            parker.arm();
            // Before the looks: pairs with the fence of resize() (S6), and with that of an engine that stops.
            Sync::fence(std::memory_order_seq_cst);
            if (is_active(w) || stops()) break;
            parker.sleep(); // a wake-up that was meant for its time in `parked` may come late: look again
        }
        parker.disarm();
    }

    /// Changes the number of active workers; one call at a time. `tell()` runs between the change and the
    /// waking of the workers that it concerns.
    template <class Tell>
    void resize(int count, Tell&& tell) {
        const int before = active_count.load(std::memory_order_relaxed); // written here only
        active_count.store(count, std::memory_order_seq_cst); // pairs with the load in wait_inactive()
        // Between that store and the looks at the parkers: pairs with arm() and the load in wait_inactive()
        // and, for announcers, with the load in active_part() (S6).
        Sync::fence(std::memory_order_seq_cst);
        tell();
        // A worker that becomes inactive may be asleep in `parked`, where wake-ups would be wasted on it.
        for (int w = std::min(before, count); w < std::max(before, count); ++w)
            members[rank(w)]->parker.wake();
    }

    /// Wakes one parked worker of the range, if there is one.
    void wake_one(workers range, worker_id near) noexcept {
        if (range.empty()) return;
        while (const auto id = parked.find_in(rank(range.first), rank(range.last), rank(near))) {
            // There may be more tasks than one: a worker that gets busy wakes the next. The wake is added
            // before the worker is removed: it may have found something in its last look, and be about to
            // read the word (S3).
            add_pending_wake(*id, range);
            if (!parked.erase(*id)) continue; // it has left, or another waker wakes it
            members[*id]->parker.wake();
            return;
        }
    }

private:
    /// The active workers of the range. If it has none: all active workers, since the places of inactive
    /// workers are looked at by the others (S5, requirements::resizable).
    workers active_part(workers range) const noexcept {
        const int count = active_count.load(std::memory_order_relaxed); // after a fence of the caller
        if (range.last <= count || range.empty()) return range;
        return range.first < count ? workers{range.first, count} : workers{0, count};
    }

    /// Wakes one worker of the range that is pending at w; false if there is none. Requires: w has left
    /// `searching`.
    bool pass_on(worker_id w) noexcept {
        auto& pending_wakes = members[rank(w)]->pending_wakes;
        if (pending_wakes.load(std::memory_order_seq_cst) == 0) return false;
        // acq_rel: pairs with the exchange in add_pending_wake()
        const workers range = active_part(unpack(pending_wakes.exchange(0, std::memory_order_acq_rel)));
        if (passes_to_searchers && leave_to_searcher(range, w)) return true;
        wake_one(range, w);
        return true;
    }

    std::optional<std::uint32_t> leave_to_searcher(workers range, worker_id near) noexcept {
        const auto searcher = searching.find_in(rank(range.first), rank(range.last), rank(near));
        if (!searcher) return std::nullopt;
        // The searcher finds the task; or it finds another one, or becomes inactive, and then it passes
        // the wake on. If it has stopped searching by now, it may have read its pending wakes before this
        // one was added, so the set is looked at again (S2).
        add_pending_wake(*searcher, range);
        Sync::fence(std::memory_order_seq_cst); // pairs with the erasure in stop_searching()
        return searching.contains(*searcher) ? searcher : std::nullopt;
    }

    /// Makes the range that is pending at worker `id` cover `r`.
    void add_pending_wake(std::uint32_t id, workers r) noexcept {
        auto& pending_wakes = members[id]->pending_wakes;
        std::uint64_t before = pending_wakes.load(std::memory_order_relaxed); // the exchange decides
        for (;;) {
            const workers now = unpack(before);
            if (!now.empty() && now.first <= r.first && r.last <= now.last) return;
            const workers both =
                now.empty() ? r : workers{std::min(now.first, r.first), std::max(now.last, r.last)};
            // seq_cst: before the second look at `searching` in announce() (S2); taken in pass_on()
            if (pending_wakes.compare_exchange_strong(before, pack(both), std::memory_order_seq_cst,
                                                      std::memory_order_relaxed))
                return;
        }
    }
};

} // namespace weft::engine
