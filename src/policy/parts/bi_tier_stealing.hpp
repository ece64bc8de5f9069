#pragma once

#include "policy/parts/bi_tier_task.hpp"
#include "policy/parts/fair_turns.hpp"
#include "policy/parts/headed_groups.hpp"
#include "policy/parts/kept_subtrees.hpp"
#include "policy/parts/places.hpp"
#include "policy/parts/subtree_guard.hpp"
#include "policy/seam/policy.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/locked_list.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

/// The two tiers in which CAB's tasks are kept and stolen: inter-socket tasks in a pool for each socket,
/// tasks of a subtree in the deques of one socket's workers.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 3.3.2 and
///   Table 3.3. C1 and C2: cab.cpp.
///
/// A pool is double-ended, as a worker's deque is: its own head takes the task that was put last, and the
/// heads of other sockets take the task that was put first, as the own head does with the setting `oldest`. A
/// task that has waited is put where the own head takes it next. A task that yielded lies behind its pool: both kinds of heads take it
/// after the pool. At a fair turn the own head takes it before the pool.
///
/// Not here: which tier a task belongs to. The partition decides that before the task is put, and writes it
/// to `is` of the task's bytes. Any worker may put a task; each worker takes only for itself.
namespace weft::bi_tier {

class stealing {
public:
    struct settings {
        bool even = false;    ///< in the first iteration subtrees go to sockets by their position
        bool oldest = false;  ///< a pool's own head takes the oldest task, too
        bool in_turn = false; ///< heads look at the pools of other sockets in turn, not at random
        bool keep = false;    ///< a subtree goes to the socket that last had the one at its place
        bool lazy = false;    ///< victims may hide entries, which a thief asks for
    };

    /// Allocates: for policy::attach. `sockets` are all workers.
    void attach(std::vector<workers> sockets, policy_context& context, settings s) {
        set_ = s;
        context_ = &context;
        intra_.attach(context);
        free_.attach(context);
        on_.attach(std::move(sockets), context);
        sockets_ = std::make_unique<socket[]>(static_cast<std::size_t>(on_.count()));
        mine_ = std::make_unique<worker_part[]>(static_cast<std::size_t>(context.all().size()));
        if (set_.keep) kept_.attach(on_.count());
    }

    int sockets() const noexcept { return on_.count(); }

    // ---- events that the policy reports

    /// `t`, a leaf inter-socket task, begins on `w`: C2.
    void begin_subtree(worker_id w, task& t) noexcept {
        auto& own = t.data<task_part>();
        own.self = &t;
        own.socket = on_.of(w) + 1;
        kept_.keep(own.at, on_.of(w));
        at(on_.of(w)).guard.begin();
    }
    void end_subtree(const task_part& t) {
        at(t.socket - 1).guard.end();
        on_.wake_head(t.socket - 1);
    }
    /// A task of the subtree waits for something else than its children.
    void share(const task_part& t) { share_socket(t.socket - 1); }
    /// An inter-socket task begins on `w`, and is resumed there.
    void begin_inter(worker_id w, task_part& t) const noexcept { t.socket = on_.of(w) + 1; }

    /// The number of roots that are stolen at random changes, and with it every worker's victims.
    void count_plain(int change) {
        plain_.add(change);
        context_->wake(context_->all());
    }
    workers victims(worker_id w) const {
        return plain_.load_relaxed() > 0 ? context_->all() : on_.members(on_.of(w));
    }

    // ---- putting

    /// A root, or a task of a plain program.
    placement put_root(worker_id w, task& t, ready_reason reason) { return free_.put(w, t, reason); }
    /// A task of no subtree.
    placement put_free(worker_id w, task& t, ready_reason reason) {
        if (!has_free_.load_relaxed()) has_free_.store_relaxed(true); // a hint: a last look does not read it
        return free_.put(w, t, reason);
    }

    placement put_in_pool(worker_id w, task& t, ready_reason reason) {
        const bool yields = goes_behind(reason);
        if (yields) of(w).turns.yielded();
        const int home = home_of(w, t.data<task_part>());
        const bool fresh = t.fresh();
        if (!fresh && !yields && set_.oldest)
            at(home).pool.push_front(&t);
        else
            (yields ? at(home).behind : at(home).pool).push_back(&t);
        on_.wake_other_heads(home);
        return {pool_place(home), fresh ? on_.head_range(home) : on_.members(home), on_.head(home)};
    }

    placement put_in_socket(worker_id w, task& t, ready_reason reason) {
        const int home = t.data<task_part>().socket - 1;
        if (goes_behind(reason) && ++of(w).yields_in_subtree % fair_turns::yields_to_look == 0)
            share_socket(home);
        if (on_.of(w) != home) {
            at(home).arrivals.push_back(&t);
            return {arrivals_place(home), on_.members(home), on_.head(home)};
        }
        return {intra_.put(w, t, reason).at, on_.members(home)};
    }

    // ---- taking

    decision next(worker_id w, bool last_look) {
        worker_part& me = of(w);
        const decision found = next_of(w, me, last_look);
        me.failed_looks = found.t == nullptr ? me.failed_looks + 1 : 0;
        return found;
    }
    /// Without tiers.
    decision next_at_random(worker_id w, bool last_look) {
        if (const decision own = free_.own(w, last_look); own.t != nullptr) return own;
        return free_.look_outside(w, last_look, set_.lazy);
    }

private:
    struct alignas(queue::k_cache_line_bytes) socket {
        subtree_guard guard;
        queue::locked_list<task> pool;     // inter-socket tasks, the oldest in front; any worker puts, C1
        queue::locked_list<task> behind;   // likewise, those that yielded
        queue::locked_list<task> arrivals; // tasks of its subtrees, made ready elsewhere; its workers take
    };
    struct alignas(queue::k_cache_line_bytes) worker_part { // only its worker touches it
        fair_turns turns;               // its yields: of inter-socket tasks, since a call left the pool alone
        unsigned failed_looks = 0;      // in a row
        unsigned pools_seen = 0;        // of other sockets
        unsigned yields_in_subtree = 0; // after each yields_to_look, the socket may begin another subtree
    };

    socket& at(int s) noexcept { return sockets_[static_cast<std::size_t>(s)]; }
    worker_part& of(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }
    // Places up to free_.root_place() belong to single workers and to all.
    place_id pool_place(int s) const noexcept { return free_.root_place() + 1 + s; }
    place_id arrivals_place(int s) const noexcept { return free_.root_place() + 1 + on_.count() + s; }

    void share_socket(int s) {
        if (at(s).guard.share()) on_.wake_head(s);
    }

    /// The socket whose pool an inter-socket task goes to.
    int home_of(worker_id w, const task_part& t) const noexcept {
        const int home = t.socket > 0 ? t.socket - 1 : on_.of(w);
        if (t.is != kind::leaf) return home;
        if (set_.even && t.iterations < 2) return t.at.socket_of(on_.count());
        const int kept = kept_.home_of(t.at);
        return kept >= 0 ? kept : home;
    }

    decision next_of(worker_id w, worker_part& me, bool last_look) {
        if (me.turns.begin() != turn::usual) {
            if (task* const t = on_.is_head(w) ? at(on_.of(w)).behind.try_pop_front() : nullptr)
                return {t, pool_place(on_.of(w))};
            if (const decision p = from_shared(w, me, last_look); p.t != nullptr) return p;
        }
        if (const decision p = intra_.own(w, last_look); p.t != nullptr) return p;
        if (const decision p = from_shared(w, me, last_look); p.t != nullptr) return p;
        return last_look ? look_everywhere(w) : look_once(w, me);
    }

    /// Takes a task that needs no look elsewhere and is not one of the worker's own tasks of a subtree.
    decision from_shared(worker_id w, worker_part& me, bool last_look) {
        const int here = on_.of(w);
        if (task* const t = at(here).arrivals.try_pop_front()) return {t, arrivals_place(here)};
        if (me.turns.sees_only_yields() && !last_look)
            me.turns.looked_elsewhere(); // the head's tasks only yield to each other
        else if (task* const t = on_.is_head(w) ? from_own_pool(at(here)) : nullptr) // C1
            return {t, pool_place(here)};
        return free_.own(w, last_look);
    }

    task* from_own_pool(socket& s) const {
        const bool may_begin = s.guard.may_begin(); // C2
        const auto may_take = [&](const task& x) {
            return may_begin || x.data<task_part>().is != kind::leaf;
        };
        task* const t = set_.oldest ? s.pool.pop_first_if(may_take) : s.pool.pop_last_if(may_take);
        return t != nullptr ? t : s.behind.try_pop_front();
    }

    static task* begun_in_pool(socket& s) {
        task* const t = s.pool.pop_last_if([](const task& x) { return !x.fresh(); });
        return t != nullptr ? t : s.behind.try_pop_front();
    }

    /// `takes_kept`: also takes a subtree that should stay with the other socket.
    task* from_other_pool(int here, int other, bool takes_kept) {
        const bool may_begin = at(here).guard.may_begin(); // C2
        const std::int64_t surplus = kept_.surplus(other, here);
        task* const t = at(other).pool.pop_first_if([&](const task& x) {
            const task_part& p = x.data<task_part>();
            if (p.is != kind::leaf) return true;
            return may_begin && (takes_kept || kept_.home_of(p.at) < 0 || 2 * p.at.size() <= surplus);
        });
        return t != nullptr ? t : at(other).behind.try_pop_front();
    }

    /// Which pool the head looks at: each of the others in turn, or any.
    int other_pool(worker_id w, worker_part& me) {
        if (!set_.in_turn) return on_.random_other(w);
        const auto step = static_cast<int>(me.pools_seen++ % static_cast<unsigned>(on_.count() - 1));
        return (on_.of(w) + 1 + step) % on_.count();
    }

    decision look_once(worker_id w, worker_part& me) {
        const int here = on_.of(w);
        const bool has_subtree = at(here).guard.has_subtree(), plain = plain_.load_relaxed() > 0;
        const unsigned turns = me.turns.begun();
        // Beside a plain program, a socket without a subtree looks for one only rarely.
        const bool by_chance =
            plain && !has_subtree ? turns % 8 != 1 : (plain || has_free_.load_relaxed()) && turns % 2 == 0;
        if (by_chance) return look_at(free_, free_.random_victim(w), plain);
        const bool is_alone = on_.members(here).size() == 1;
        if (on_.is_head(w) && (turns / 2 % 2 == 0 || is_alone)) {
            const int other = other_pool(w, me);
            const bool takes_kept = me.failed_looks >= places::failed_looks_before_remote_steal;
            return {from_other_pool(here, other, takes_kept), pool_place(other)};
        }
        if (is_alone) return {};
        return look_at(intra_, on_.random_neighbour(w), has_subtree); // otherwise no frame here is silent
    }

    decision look_everywhere(worker_id w) {
        const int here = on_.of(w);
        const workers members = on_.members(here);
        for (worker_id v = members.first; v < members.last; ++v)
            if (task* const t = v == w ? nullptr : intra_.look_hard(v)) return {t, v};
        if (on_.is_head(w)) {
            for (int i = 1; i < on_.count(); ++i) {
                const int other = (here + i) % on_.count();
                if (task* const t = from_other_pool(here, other, true)) return {t, pool_place(other)};
            }
        } else if (task* const t = begun_in_pool(at(here))) {
            return {t, pool_place(here)};
        }
        return free_.look_everywhere(w, w);
    }

    /// If nothing is found, the victim is asked for a hidden entry, if it may have one.
    decision look_at(places& in, worker_id victim, bool may_hide) noexcept {
        const places::look_result got = in.look(victim);
        return {got.t, victim, got.t == nullptr && !got.lost && may_hide && set_.lazy};
    }

    settings set_;
    policy_context* context_ = nullptr;
    places intra_, free_;
    headed_groups on_;
    std::unique_ptr<socket[]> sockets_;
    std::unique_ptr<worker_part[]> mine_;
    kept_subtrees kept_; // keep
    queue::cell<bool> has_free_;
    queue::cell<int> plain_; // roots
};

} // namespace weft::bi_tier
