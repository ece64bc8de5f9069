#include "policy/parts/assembly_queues.hpp"
#include "policy/parts/core_groups.hpp"
#include "policy/parts/held_lock.hpp"
#include "policy/parts/idle_places.hpp"
#include "policy/parts/level_queue.hpp"
#include "policy/parts/molding_rules.hpp"
#include "policy/parts/places.hpp"
#include "policy/parts/running_work.hpp"
#include "policy/parts/work_history.hpp"
#include "policy/seam/registry.hpp"

#include "machine/machine.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/spin_lock.hpp"
#include "task/task_class.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace weft::policies {
namespace {

class hybrid final : public policy {
public:
    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        groups_.attach(m, context);
        history_.attach(groups_, m.size());
        running_.attach(history_, context);
        wide_.attach(m, context, groups_);
        assembly_.attach(wide_.clusters(), context.all().size());
        for (worker_id w = 0; w < context.all().size(); ++w) home_.push_back(context.core_of(w));
        exchange_ns_ = m.parts().exchange_ns;
        mine_ = std::make_unique<worker[]>(static_cast<std::size_t>(context.all().size()));
        const bool unequal = !groups_.are_equal();
        return {.task_bytes = sizeof(node),
                .lazy = true,
                .wide_groups = true,
                .offers_ahead = true,
                .demotable = true,
                .levels = unequal,
                .exchanges = true,
                .graph_tasks = unequal,
                .most_width = wide_.widest()};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (t.molds() && t.fresh() && reason == ready_reason::released) {
            waiting_.add(1);
            if (molded_.add(1) == 0) go_home();
        }
        if (!history_.are_unequal() || !is_long(w, t, reason)) return places_.put(w, t, reason);
        long_.push(t, t.bottom_level(), t.data<node>().expected);
        return {places_.root_place() + 1, context_->active()};
    }

    decision next(worker_id w, bool last_look) override {
        running_.rests(w);
        const decision found = search(w, last_look);
        if (found.t != nullptr) {
            running_.finds(w, *found.t, is_measured(*found.t) && found.t->fresh());
            wake_faster(w);
        }
        return found;
    }

    elastic_place mold(worker_id w, task& t) override {
        running_.rests(w);
        node& own = t.data<node>();
        own.type = wide_.type_of(class_of(t));
        const int ready = waiting_.add(-1); // this task is one of them
        int free = 0;
        for (worker_id v = 0; v < context_->all().size(); ++v) free += v == w || is_idle(v) ? 1 : 0;
        return wide_.choose(w, own.type, width_by_load(1, free, ready).value_or(1),
                            [&](worker_id v) { return is_idle(v); });
    }

    void assemble(worker_id, std::span<task* const> shares, elastic_place where) override {
        for (worker_id v = where.leader; v < where.leader + where.width; ++v) at(v).shares.add(1);
        assembly_.put(shares, where);
    }

    decision search(worker_id w, bool last_look) {
        if (task* const share = assembly_.take(w)) return {share, w};
        const bool unequal = history_.are_unequal();
        worker& me = at(w);
        if (unequal && me.sleeps.load_relaxed()) me.sleeps.store_relaxed(false); // only this worker sets it
        const bool ask_has_failed = std::exchange(me.takes_over_next, false);
        if (const decision mine = places_.own(w, last_look); mine.t != nullptr) return mine;
        if (!unequal) return places_.look_outside(w, last_look, true, places::thief_takes::half);
        if (!long_.empty()) {
            take_over(w, 4, long_.most_expected());
            if (task* const t = long_.pop()) return {t, places_.root_place() + 1};
        }
        if (ask_has_failed) take_over(w, 4, 0);
        const decision found = places_.look_outside(w, last_look, true, places::thief_takes::half);
        if (found.t != nullptr || places_.keeps_behind(w)) {
            me.failures = 0;
        } else if (last_look) {
            me.sleeps.exchange(true);
            take_over(w, 2, 0);
        } else if (++me.failures >= context_->all().size() - 1) {
            me.failures = 0;
            if (found.ask)
                me.takes_over_next = true;
            else
                take_over(w, 4, 0);
        }
        return found;
    }

    workers victims(worker_id) override { return context_->all(); }
    bool queues_child(worker_id w) override { return places_.queues_child(w); }

    void started(worker_id w, task& t) override {
        running_.starts(w);
        if (t.is_share()) t.data<node>().since = context_->now();
    }
    void resumed(worker_id w, task& t) override { running_.resumes(w, t); }
    void blocked(worker_id w, task&, ready_reason) override { running_.rests(w); }
    void finished(worker_id w, task& t, const usage& used) override {
        running_.leaves(w, !used.cancelled);
        if (!t.is_share()) return;
        const node& own = t.data<node>();
        at(w).shares.add(-1);
        if (t.rank() != 0) return;
        if (!used.cancelled) wide_.took(own.type, {w, t.width()}, context_->now() - own.since);
        molded_.add(-1);
    }

private:
    struct node { // of the policy's bytes
        double expected;
        std::int64_t turn;
        time_ns since;
        std::int32_t type;
    };
    struct alignas(queue::k_cache_line_bytes) worker {
        int failures = 0;             ///< looks in a row that found nothing
        bool takes_over_next = false; ///< unless the ask that is under way brings something
        queue::cell<bool> sleeps;     ///< its last look found nothing
        queue::cell<int> shares;      ///< of moldable tasks, waiting or running
    };

    static std::size_t rank(worker_id w) noexcept { return static_cast<std::size_t>(w); }
    worker& at(worker_id w) noexcept { return mine_[rank(w)]; }

    bool is_idle(worker_id w) noexcept { return !running_.is_busy(w) && at(w).shares.load_relaxed() == 0; }

    static bool is_measured(const task& t) noexcept {
        return t.is_of_wide_group() || (t.graph() != 0 && !t.is_share() && !t.molds());
    }

    bool is_long(worker_id w, task& t, ready_reason reason) {
        if (!t.fresh() || (!is_measured(t) && !t.molds())) return false;
        if (reason != ready_reason::spawned && reason != ready_reason::released &&
            reason != ready_reason::granted)
            return false;
        const double ns =
            history_.time_on(history_.find_or_add(t), work_history::units_of(t), context_->core_of(w));
        t.data<node>().expected = ns * history_.speed_of(context_->core_of(w));
        return t.graph() != 0 || t.molds() || ns > 10 * exchange_ns_;
    }

    /// `w` is idle.
    void take_over(worker_id w, double costs, double instead) {
        const held_lock held(exchanging_);
        if (molded_.load_relaxed() > 0) return; // places lie on the cores where workers began
        const workers all = context_->all();
        const double own_speed = history_.speed_of(context_->core_of(w));
        worker_id best = -1;
        double most = costs * exchange_ns_;
        for (worker_id v = all.first; v < all.last; ++v) {
            if (v == w) continue;
            const running_work::left rest = running_.of(v, w);
            if (!rest.busy || rest.there * own_speed < instead) continue;
            if (rest.here - rest.there > most) {
                most = rest.here - rest.there;
                best = v;
            }
        }
        if (best < 0) return;
        running_.moves(best);
        context_->exchange(w, best);
    }

    void go_home() {
        const held_lock held(exchanging_);
        for (worker_id w = 0; w < context_->all().size(); ++w)
            for (worker_id v = w + 1; v < context_->all().size() && context_->core_of(w) != home_[rank(w)]; ++v)
                if (context_->core_of(v) == home_[rank(w)]) {
                    running_.moves(w);
                    running_.moves(v);
                    context_->exchange(w, v);
                }
    }

    void wake_faster(worker_id w) {
        if (!history_.are_unequal()) return;
        const workers active = context_->active();
        const double speed = history_.speed_of(context_->core_of(w));
        for (worker_id v = active.first; v < active.last; ++v)
            if (at(v).sleeps.load_acquire() && history_.speed_of(context_->core_of(v)) > speed) {
                at(v).sleeps.store_relaxed(false);
                return context_->wake({v, v + 1});
            }
    }

    policy_context* context_ = nullptr;
    double exchange_ns_ = 0;
    std::vector<int> home_; ///< of each worker: its core at attach()
    core_groups groups_;
    work_history history_;
    running_work running_;
    idle_places wide_;
    assembly_queues assembly_;
    queue::cell<int> waiting_{0}; ///< moldable tasks that are ready
    queue::cell<int> molded_{0};  ///< the same, and those that run
    places places_;
    level_queue<node> long_;
    std::unique_ptr<worker[]> mine_;
    queue::spin_lock<> exchanging_;
};

} // namespace

extern constinit const policy_entry hybrid_entry{
    .name = "hybrid",
    .summary = "for unequal cores: steals; fast cores take over what takes long on slow ones",
    .source = "Weft",
    .helps = "cores of unequal speed, whatever the program",
    .knobs = {},
    .make = [](const knob_values&) -> std::unique_ptr<policy> { return std::make_unique<hybrid>(); },
};

} // namespace weft::policies
