#pragma once

#include "engine/worker/ranks.hpp"
#include "policy/seam/policy.hpp"
#include "queue/worker_set.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

namespace weft::engine {

/// Searching workers, sleeping workers and inactive workers, and what one owes the other: the steps of
/// engine/threads/README.md, "Sleep" and "Who stands by". A template, so that the model check runs the same
/// steps.
///
/// `crew[w]` is a worker with a `bed` (sleeper) and a word `owed`: the range for which something was
/// announced that was left to it, or for which it was woken. If it gets busy, it wakes another one of them.
///
///   word               | writer                                   | order
///   searching, parked  | a worker its own number; wakers take out | see worker_set
///   owed               | announcers and wakers, the worker        | seq_cst; taken by acq_rel
///   active_count       | resize()                                 | seq_cst; read relaxed, after fences
template <class Crew, class Sync = queue::std_sync>
struct sleep_protocol {
    queue::worker_set<Sync>& searching;
    queue::worker_set<Sync>& parked;
    Crew& members;
    typename Sync::template atomic<int>& active_count;

    bool is_active(worker_id w) const noexcept {
        return w < active_count.load(std::memory_order_relaxed); // resize() wakes whom it concerns
    }

    /// Something was placed that `who` may run; `near` has placed it. The searching worker that it was left
    /// to, if there is one: it is not to go on waiting for an answer.
    std::optional<std::uint32_t> announce(workers who, worker_id near) noexcept {
        if (who.empty()) return std::nullopt;
        // The place was written before; a worker that parks inserts itself before its last look, with a fence
        // on either side.
        Sync::fence(std::memory_order_seq_cst);
        who = able(who); // read after the fence
        if (const auto searcher = searching.find_in(rank(who.first), rank(who.last), rank(near))) {
            // It will find the task; or it finds another one, or stands by, and then it wakes somebody. If it
            // has stopped searching by now, it may have looked at what it owes before this was added.
            add_pending_wake(*searcher, who);
            Sync::fence(std::memory_order_seq_cst); // pairs with the erasure in stop_searching()
            if (searching.contains(*searcher)) return searcher;
        }
        wake_one(who, near);
        return std::nullopt;
    }

    /// A worker that has found something: what was announced while it searched, and left to it, is owed here.
    void stop_searching(worker_id w) noexcept {
        searching.erase(rank(w)); // seq_cst, before what is owed is read: pairs with the fence of announce()
        static_cast<void>(pass_on(w));
    }

    /// A worker that has found nothing: arms its bed, shows itself, asks, looks once more, and sleeps unless
    /// `look()` says that there is something.
    template <class Ask, class Look>
    void park(worker_id w, Ask&& ask, Look&& look) {
        auto& parker = members[rank(w)]->parker;
        parker.arm();
        parked.insert(rank(w));
        Sync::fence(std::memory_order_seq_cst); // before the last look: pairs with the fence of announce()
        ask();
        if (!look()) parker.sleep();
        parker.disarm();
        parked.erase(rank(w));
    }

    /// A worker that searches no more, and has found nothing: it goes where nobody of these can reach it.
    void leave(worker_id w) noexcept {
        searching.erase(rank(w)); // as in stop_searching()
        // What was announced to it until now is owed, and handed on. If it was woken without that
        // (policy_context::wake), somebody else looks instead.
        if (!pass_on(w)) wake_one({0, active_count.load(std::memory_order_relaxed)}, w); // a hint
    }

    /// A worker that is not active: leaves `searching` and sleeps until it is, or `stops()`.
    template <class Stops>
    void wait_inactive(worker_id w, Stops&& stops) {
        leave(w);
        auto& parker = members[rank(w)]->parker;
        for (;;) {
            parker.arm();
            Sync::fence(
                std::memory_order_seq_cst); // before the looks: pairs with the fence of resize(), and stop()
            if (is_active(w) || stops()) break;
            parker.sleep(); // a wake-up that was meant for its time in `parked` may come late
        }
        parker.disarm();
    }

    /// One at a time. `tell()` comes between the change and the waking of those whom it concerns.
    template <class Tell>
    void resize(int count, Tell&& tell) {
        const int before = active_count.load(std::memory_order_relaxed); // written here only
        active_count.store(count, std::memory_order_seq_cst); // pairs with the load in wait_inactive()
        // Between that store and the looks at the beds: pairs with arm() and the load in wait_inactive(), and, for
        // those who announce, with the load in able().
        Sync::fence(std::memory_order_seq_cst);
        tell();
        // Who is to stand by may be asleep in `parked`, where wake-ups would be spent on it.
        for (int w = std::min(before, count); w < std::max(before, count); ++w)
            members[rank(w)]->parker.wake();
    }

    void wake_one(workers who, worker_id near) noexcept {
        if (who.empty()) return;
        while (const auto id = parked.find_in(rank(who.first), rank(who.last), rank(near))) {
            // There may be more than one task: if it gets busy, it goes on waking. Said before it is taken
            // out: it may have found something in its last look, and be on its way to look at what it owes.
            add_pending_wake(*id, who);
            if (!parked.erase(*id)) continue; // it left, or somebody else wakes it
            members[*id]->parker.wake();
            return;
        }
    }

private:
    /// Those of `who` that are active.
    workers able(workers who) const noexcept {
        const int count = active_count.load(std::memory_order_relaxed); // after a fence of the caller
        if (who.last <= count || who.empty()) return who;
        // A place whose own workers all stand by is looked at by the others: requirements::resizable.
        return who.first < count ? workers{who.first, count} : workers{0, count};
    }

    /// False if `w` owes nothing. It has left `searching`.
    bool pass_on(worker_id w) noexcept {
        auto& pending_wakes = members[rank(w)]->pending_wakes;
        if (pending_wakes.load(std::memory_order_seq_cst) == 0) return false;
        wake_one(able(unpack(pending_wakes.exchange(0, std::memory_order_acq_rel))), w); // pairs with owe()
        return true;
    }

    /// Makes what `id` owes cover `r`.
    void add_pending_wake(std::uint32_t id, workers r) noexcept {
        auto& pending_wakes = members[id]->pending_wakes;
        std::uint64_t before = pending_wakes.load(std::memory_order_relaxed); // the exchange decides
        for (;;) {
            const workers now = unpack(before);
            if (!now.empty() && now.first <= r.first && r.last <= now.last) return;
            const workers both =
                now.empty() ? r : workers{std::min(now.first, r.first), std::max(now.last, r.last)};
            // seq_cst: before the second look at `searching`, see announce(); taken in pass_on()
            if (pending_wakes.compare_exchange_strong(before, pack(both), std::memory_order_seq_cst,
                                                      std::memory_order_relaxed))
                return;
        }
    }
};

} // namespace weft::engine
