#pragma once

#include "policy/parts/fair_turns.hpp"
#include "policy/seam/policy.hpp"

#include "queue/cache_line.hpp"
#include "queue/chase_lev_deque.hpp"
#include "queue/locked_list.hpp"

#include <algorithm>
#include <memory>
#include <new>

/// Where a policy with one deque for each worker keeps its tasks: what it needs beside the deque.
///
/// A deque alone lets tasks starve. A root that is handed in waits behind a deque that never runs dry. A task
/// that yields into the last-in-first-out deque of its worker comes back at once, and the task that it waits
/// for never runs. So there are three kinds of places:
///
///     deque    one for each worker: spawned children, continuations, tasks whose wait is over
///     behind   one for each worker, first in first out: tasks that yielded
///     roots    one for all workers, first in first out: what came in from outside
///
/// One rule, which own() follows, is about their order: first the own deque, then a root, then the own tasks
/// behind, and only then the policy looks elsewhere. It has three exceptions:
///
/// R1. Every turns_to_fair-th call begins alternately with a root or with a task behind, even if the deque is
///     full. So the first of either waits for at most twice that many tasks of a worker.
/// R2. After yields_to_look yields of a worker, one call stops before the place that they go to, so that the
///     policy looks elsewhere: two tasks that yield to each other do not keep the worker from the task that
///     both wait for.
/// R3. A last look leaves out nothing.
///
/// Where the owner takes its oldest task, the end of the deque is behind already, and yielded tasks go there.
/// Tasks that were at their turn when the gate refused them are then kept ahead of the deque.
namespace weft {

class places {
public:
    static constexpr unsigned turns_to_fair = fair_turns::turns_to_fair;
    static constexpr unsigned yields_to_look = fair_turns::yields_to_look;
    /// Failed looks after which a worker takes what is kept for others, since they may not come.
    static constexpr unsigned failed_looks_before_remote_steal = 1024;
    static constexpr int most_moved = 64; ///< tasks that one look takes besides the first
    /// Children of wide groups that wait in one deque, for each worker; 300 bytes each.
    static constexpr int queued_for_each_worker = 32, least_queued = 64, most_queued = 2048;

    enum class owner_takes : bool { youngest, oldest };
    enum class thief_takes : bool { one, half };

    /// Allocates: for policy::attach.
    void attach(policy_context& context, owner_takes end = owner_takes::youngest) {
        context_ = &context;
        count_ = context.all().size();
        most_queued_ = std::clamp(queued_for_each_worker * count_, least_queued, most_queued);
        end_ = end;
        mine_ = std::make_unique<place[]>(static_cast<std::size_t>(count_));
    }

    int workers_in_all() const noexcept { return count_; }
    place_id root_place() const noexcept { return count_; }

    /// For policy::ready: by its reason a task goes to the roots, behind, or onto the deque of `w`, the
    /// caller.
    placement put(worker_id w, task& t, ready_reason reason) {
        if (reason == ready_reason::root) {
            roots_.push_back(&t);
            return {root_place(), context_->active()};
        }
        const bool yields = goes_behind(reason);
        if (yields) at(w).turns.yielded();
        if (yields && end_ == owner_takes::youngest) {
            at(w).behind.push_back(&t);
        } else if (reason == ready_reason::granted && end_ == owner_takes::oldest) {
            at(w).ahead.push_back(&t);
        } else {
            push(w, t);
        }
        return {w, context_->active()};
    }

    /// The next task out of the places of `w`, the caller, by the rule above; `t` is null if there is none.
    decision own(worker_id w, bool last_look) noexcept {
        place& p = at(w);
        if (const turn now = p.turns.begin(); now != turn::usual) {
            const bool roots_first = now == turn::odd_fair;
            task* const first = roots_first ? roots_.try_pop_front() : p.behind.try_pop_front();
            if (first != nullptr) return {first, roots_first ? root_place() : w};
            task* const second = roots_first ? p.behind.try_pop_front() : roots_.try_pop_front();
            if (second != nullptr) return {second, roots_first ? w : root_place()};
        }
        if (end_ == owner_takes::youngest) {
            if (task* const t = p.deque.pop()) return {t, w};
        }
        if (p.turns.sees_only_yields() && !last_look) { // R2, R3
            p.turns.looked_elsewhere();
            return {};
        }
        if (end_ == owner_takes::oldest) {
            if (task* const t = p.ahead.try_pop_front()) return {t, w};
            if (task* const t = p.deque.pop_top()) return {t, w};
        }
        if (task* const t = roots_.try_pop_front()) return {t, root_place()};
        return {p.behind.try_pop_front(), w};
    }

    /// For a task from another worker: the owner takes it after its deque; thieves take it after that, too.
    placement put_behind(worker_id w, task& t) {
        at(w).behind.push_back(&t);
        return {w, context_->active()};
    }

    /// Whether a task lies behind. If own() has given nothing, R2 has stopped before that task.
    bool keeps_behind(worker_id w) const noexcept {
        return !mine_[static_cast<std::size_t>(w)].behind.empty();
    }

    /// How many tasks lie in the deque. For the owner it is exact, except that thieves may take some; for
    /// other workers it is a hint.
    int length(worker_id w) const noexcept {
        return static_cast<int>(mine_[static_cast<std::size_t>(w)].deque.size());
    }

    struct look_result {
        task* t = nullptr;
        bool lost = false; ///< another worker was faster, so the victim need not be empty
        int moved = 0;     ///< further tasks that now lie in the caller's deque
    };

    /// One look at the places of `victim`, by any worker: the oldest of its deque, then the first behind.
    look_result look(worker_id victim) noexcept {
        place& p = at(victim);
        if (end_ == owner_takes::oldest) {
            if (task* const t = p.ahead.try_pop_front()) return {t, false};
        }
        task* t = nullptr;
        const queue::steal_result result = p.deque.steal(t);
        if (result == queue::steal_result::ok) return {t, false};
        if (result == queue::steal_result::lost) return {nullptr, true};
        return {p.behind.try_pop_front(), false};
    }

    /// The same by `w`, the caller. A thief that takes half of the victim's deque puts what it takes besides
    /// the first, at most most_moved tasks, onto its own. It does so if the first is a child of a wide group:
    /// other tasks lie there one by one, and may be large.
    look_result look(worker_id w, worker_id victim, thief_takes much) noexcept {
        look_result result = look(victim);
        if (result.t != nullptr) result.moved = take_more(w, victim, *result.t, much);
        return result;
    }

    /// For policy::queues_child: a child of a wide group is queued for thieves, which take many at a time,
    /// unless the deque has enough for all of them. So the caller runs children itself while thieves are
    /// busy, and what waits takes bounded memory.
    bool queues_child(worker_id w) const noexcept { return length(w) < most_queued_; }

    /// The same, but returns null only if the victim was seen empty: for the last look.
    task* look_hard(worker_id victim) noexcept {
        for (;;) { // the worker that made this look lose got a task, so every round makes progress
            const look_result result = look(victim);
            if (!result.lost) return result.t;
        }
    }

    decision look_hard(worker_id w, worker_id victim, thief_takes much) noexcept {
        task* const t = look_hard(victim);
        return {t, victim, false, t != nullptr ? take_more(w, victim, *t, much) : 0};
    }

    /// A look at all workers but `w`, in rank order from `first` on and around.
    decision look_everywhere(worker_id w, worker_id first, thief_takes much = thief_takes::one) noexcept {
        for (int i = 0; i < count_; ++i) {
            const worker_id victim = (first + i) % count_;
            if (victim == w) continue;
            if (const decision found = look_hard(w, victim, much); found.t != nullptr) return found;
        }
        return {};
    }

    /// One look at a random other worker; `asks`: if its places are empty, it is asked for a hidden frame.
    decision look_at_random(worker_id w, bool asks, thief_takes much = thief_takes::one) {
        const worker_id victim = random_victim(w);
        if (victim < 0) return {};
        const look_result found = look(w, victim, much);
        return {found.t, victim, found.t == nullptr && !found.lost && asks, found.moved};
    }

    /// What random stealing does when own() has given nothing.
    decision look_outside(worker_id w, bool last_look, bool asks, thief_takes much = thief_takes::one) {
        if (!last_look) return look_at_random(w, asks, much); // R3
        const worker_id first = random_victim(w);
        return first < 0 ? decision{} : look_everywhere(w, first, much);
    }

    /// Uniform among all workers but `w`; -1 if there is no other.
    worker_id random_victim(worker_id w) {
        if (count_ < 2) return -1;
        const auto drawn =
            static_cast<worker_id>(context_->random(w, static_cast<std::uint32_t>(count_ - 1)));
        return drawn < w ? drawn : drawn + 1;
    }

private:
    struct alignas(queue::k_cache_line_bytes) place {
        queue::chase_lev_deque<task*> deque; // owner: the worker
        queue::locked_list<task> behind;     // any worker
        queue::locked_list<task> ahead;      // any worker
        fair_turns turns;                    // only the worker
    };

    place& at(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }

    /// What a thief takes besides `first`: see look().
    int take_more(worker_id w, worker_id victim, const task& first, thief_takes much) noexcept {
        if (much == thief_takes::one || !first.is_of_wide_group()) return 0;
        int moved = 0;
        for (const int wanted = std::min(length(victim) / 2, most_moved); moved < wanted; ++moved) {
            task* t = nullptr;
            if (at(victim).deque.steal(t) != queue::steal_result::ok) break;
            push(w, *t);
        }
        return moved;
    }

    /// A deque that cannot grow throws before it has changed. The task is not lost: a list needs no memory of
    /// its own.
    void push(worker_id w, task& t) noexcept {
        try {
            at(w).deque.push(&t);
        } catch (const std::bad_alloc&) { at(w).behind.push_back(&t); }
    }

    policy_context* context_ = nullptr;
    int count_ = 0, most_queued_ = 0;
    owner_takes end_ = owner_takes::youngest;
    std::unique_ptr<place[]> mine_;
    queue::locked_list<task> roots_;
};

} // namespace weft
