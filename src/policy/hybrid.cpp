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
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// For machines whose cores are, or become, unequal; it needs to be told nothing.
///
/// Ours, made of parts of others. Where cores are equal it does what `steal` does, step by step, except that it molds.
///
/// - What is short, or of which nothing is known, is stolen as under `steal`.
/// - A child of a wide group that is known to take long (work_history.hpp), and each task of a graph, waits in one queue for all
///   workers: the farthest from the end first (CATS, HEFT), then the longest. So the longest tasks begin first.
/// - Of the tasks of a graph that a worker releases it keeps one for itself, since data of that task are in its caches, unless
///   one in the queue is more than levels_near tasks farther from the end.
/// - An idle worker exchanges its core with a worker on a slower one if the task there would end sooner by several costs of an exchange
///   (task snatching, Chen & Guo 2017, 5.3.1, but the task that gains most, not a random one). It does so before it takes a task that is
///   shorter than what is left there. This is the level algorithm for unequal processors (E. C. Horvath, S. Lam, R. Sethi: A level
///   algorithm for preemptive scheduling. JACM 24(1), 1977), at the ends of tasks, and at ticks for workers that sleep.
/// - A moldable task gets the idle place in which it will end first, as wide as the load allows (XiTAO; idle_places.hpp). Places
///   lie on the cores where the workers began, so while there are such tasks the workers are at home, and exchange nothing.
/// - A core whose tasks take longer than those of its equals counts as slow (work_history.hpp).
/// - With fewer active workers moldable tasks get places of active workers only. The active ones have the cores on which they began,
///   in whatever order, so that an exchange leaves no fast core to a worker that is inactive.
namespace weft::policies {
namespace {

class hybrid final : public policy {
public:
    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        const int workers = context.all().size();
        places_.attach(context);
        groups_.attach(m, context);
        history_.attach(groups_, m.size());
        running_.attach(history_, context);
        wide_.attach(m, context, groups_);
        assembly_.attach(wide_.clusters(), workers);
        for (worker_id w = 0; w < workers; ++w) home_.push_back(context.core_of(w));
        mine_ = std::make_unique<worker[]>(static_cast<std::size_t>(workers));
        exchange_ns_ = m.parts().exchange_ns;
        return {.task_bytes = sizeof(task_part),
                .lazy = true,
                .wide_groups = true,
                .offers_ahead = true,
                .demotable = true,
                .resizable = true,
                .levels = !groups_.are_equal(),
                .exchanges = true,
                .graph_tasks = !groups_.are_equal(),
                .most_width = wide_.widest(),
                .tick = groups_.are_equal() ? 0 : look_again_ns};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (t.molds() && t.fresh() && reason != ready_reason::granted) { // granted: it was counted before
            waiting_.add(1);
            if (molded_.add(1) == 0) go_home();
        }
        if (!history_.are_unequal() || !is_queued(t, reason) || stays_near(w, t, reason))
            return places_.put(w, t, reason);
        const double expected = on_speed_1(w, t);
        if (t.graph() == 0 && !t.molds() && expected <= long_for_exchanges * exchange_ns_)
            return places_.put(w, t, reason);
        long_.push(t, expected);
        return {long_place(), context_->active()};
    }

    /// A worker sleeps because what the others ran seemed to be about to end. Those that have gone on, it takes over asleep.
    void tick(time_ns) override {
        const workers active = context_->active();
        for (worker_id w = active.first; w < active.last; ++w)
            if (at(w).sleeps.load_relaxed() && !running_.is_busy(w)) take_over(w, gain_before_sleep, 0);
    }

    decision next(worker_id w, bool last_look) override {
        running_.rests(w);
        if (task* const share = assembly_.take(w)) return comes_to(w, {share, w});
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return comes_to(w, own);
        if (!history_.are_unequal()) return comes_to(w, look_outside(w, last_look));
        return comes_to(w, next_on_unequal(w, last_look));
    }

    // Inactive workers too, so that what they still hold is found.
    workers victims(worker_id) override { return context_->all(); }
    bool queues_child(worker_id w) override { return places_.queues_child(w); }

    // ---- moldable tasks

    elastic_place mold(worker_id w, task& t) override {
        running_.rests(w);
        const int type = wide_.type_of(class_of(t));
        t.data<task_part>().type = type;
        const int ready = waiting_.add(-1);        // this task is one of them
        const workers active = context_->active(); // once: it may change meanwhile
        const auto is_free = [&](worker_id v) { return active.contains(v) && is_idle(v); };
        int free = 0;
        for (worker_id v = 0; v < context_->all().size(); ++v) free += v == w || is_free(v) ? 1 : 0;
        return wide_.choose(w, type, width_by_load(1, free, ready).value_or(1), is_free);
    }

    void assemble(worker_id, std::span<task* const> shares, elastic_place where) override {
        for (task* const t : shares) t->data<task_part>().leader = where.leader;
        for (worker_id v = where.leader; v < where.leader + where.width; ++v) at(v).shares.add(1);
        assembly_.put(shares, where);
    }
    bool keeps_share(worker_id w) override { return assembly_.has(w); }

    // ---- active workers

    void resized(workers active) override {
        const held_lock held(exchanging_);
        leave_cores_to(active);
    }

    // ---- what runs

    void started(worker_id w, task& t) override {
        running_.starts(w);
        if (t.is_share()) t.data<task_part>().since = context_->now();
    }
    void resumed(worker_id w, task& t) override { running_.resumes(w, t); }
    void blocked(worker_id w, task&, ready_reason) override { running_.rests(w); }
    void finished(worker_id w, task& t, const usage& used) override {
        running_.leaves(w, !used.cancelled);
        if (t.molds()) { // cancelled before it was molded
            waiting_.add(-1);
            molded_.add(-1);
        }
        if (!t.is_share()) return;
        const auto& own = t.data<task_part>();
        at(own.leader + t.rank()).shares.add(-1);
        if (t.rank() != 0) return;
        if (!used.cancelled) wide_.took(own.type, {own.leader, t.width()}, context_->now() - own.since);
        molded_.add(-1);
    }

private:
    struct task_part { // of the policy's bytes
        level_queue::part queued;
        time_ns since;
        std::int32_t type;
        worker_id leader;
    };
    struct alignas(queue::k_cache_line_bytes) worker {
        int failures = 0;             ///< looks in a row that found nothing
        bool takes_over_next = false; ///< unless the ask that is under way brings something
        queue::cell<bool> sleeps;     ///< its last look found nothing
        queue::cell<int> shares;      ///< of moldable tasks, waiting or running
    };

    /// What must be gained, in costs of an exchange: usually, and before the worker sleeps, when it loses nothing by it.
    static constexpr double gain_to_exchange = 4, gain_before_sleep = 2;
    static constexpr double long_for_exchanges = 10; ///< a task that takes more of them is placed, not stolen
    static constexpr int levels_near = 2;
    static constexpr time_ns look_again_ns = 250'000;

    static std::size_t rank(worker_id w) noexcept { return static_cast<std::size_t>(w); }
    worker& at(worker_id w) noexcept { return mine_[rank(w)]; }
    place_id long_place() const noexcept { return places_.root_place() + 1; }
    bool is_idle(worker_id w) noexcept { return !running_.is_busy(w) && at(w).shares.load_relaxed() == 0; }
    double speed_of(worker_id w) const noexcept { return history_.speed_of(context_->core_of(w)); }

    /// Its class says what it takes, since it is no rest of another task.
    static bool is_measured(const task& t) noexcept {
        return t.is_of_wide_group() || (t.graph() != 0 && !t.is_share() && !t.molds());
    }
    static bool is_queued(const task& t, ready_reason reason) noexcept {
        return t.fresh() && (is_measured(t) || t.molds()) && reason != ready_reason::exposed &&
               !goes_behind(reason);
    }
    /// Whether the worker that has released the task of a graph runs it next itself. (Calls of stages have no level.)
    bool stays_near(worker_id w, const task& t, ready_reason reason) const noexcept {
        return reason == ready_reason::released && t.bottom_level() > 0 && !t.molds() &&
               places_.length(w) == 0 && t.bottom_level() + levels_near >= long_.first_level();
    }
    /// Nanoseconds on a core of speed 1, by the times of the caller's kind of core; 0: unknown.
    double on_speed_1(worker_id w, const task& t) noexcept {
        const double ns =
            history_.time_on(history_.find_or_add(t), work_history::units_of(t), context_->core_of(w));
        return ns * speed_of(w);
    }

    decision comes_to(worker_id w, decision found) {
        if (found.t == nullptr) return found;
        running_.finds(w, *found.t, is_measured(*found.t) && found.t->fresh());
        if (history_.are_unequal()) wake_faster(w);
        return found;
    }

    decision look_outside(worker_id w, bool last_look) {
        return places_.look_outside(w, last_look, true, places::thief_takes::half);
    }

    decision next_on_unequal(worker_id w, bool last_look) {
        worker& me = at(w);
        if (me.sleeps.load_relaxed()) me.sleeps.store_relaxed(false); // only this worker sets it
        const bool ask_has_failed = std::exchange(me.takes_over_next, false);
        if (!long_.empty()) {
            take_over(w, gain_to_exchange, long_.first_expected());
            if (task* const t = long_.pop()) return {t, long_place()};
        }
        if (ask_has_failed) take_over(w, gain_to_exchange, 0);
        const decision found = look_outside(w, last_look);
        if (found.t != nullptr || places_.keeps_behind(w)) {
            me.failures = 0;
        } else if (last_look) {
            // Before the look at what the others run: a task that begins later finds the mark (wake_faster()).
            me.sleeps.exchange(true);
            take_over(w, gain_before_sleep, 0);
        } else if (++me.failures >= context_->all().size() - 1) {
            me.failures = 0;
            if (found.ask)
                me.takes_over_next = true;
            else
                take_over(w, gain_to_exchange, 0);
        }
        return found;
    }

    /// `w`, which is idle, and the worker on a slower core whose task gains most change cores, if that task gains `costs` exchanges
    /// and has more left than `instead`, the work that `w` would do otherwise.
    void take_over(worker_id w, double costs, double instead) {
        const held_lock held(exchanging_);
        if (molded_.load_relaxed() > 0) return; // places lie on the cores where workers began
        const double speed = speed_of(w);
        worker_id best = -1;
        double most = costs * exchange_ns_;
        // Not what an inactive worker still runs: it would keep the core.
        const workers active = context_->active();
        for (worker_id v = active.first; v < active.last; ++v) {
            if (v == w) continue;
            const running_work::left rest = running_.of(v, w);
            if (!rest.busy || rest.there * speed < instead || rest.here - rest.there <= most) continue;
            most = rest.here - rest.there;
            best = v;
        }
        if (best < 0) return;
        running_.moves(best);
        context_->exchange(w, best);
    }

    void go_home() {
        const held_lock held(exchanging_);
        const int count = context_->all().size();
        for (worker_id w = 0; w < count; ++w)
            for (worker_id v = w + 1; v < count && context_->core_of(w) != home_[rank(w)]; ++v)
                if (context_->core_of(v) == home_[rank(w)]) change(w, v);
    }

    /// The cores on which the active workers began are theirs, in whatever order: no inactive worker keeps one of them.
    void leave_cores_to(workers active) {
        const int count = context_->all().size();
        const auto is_of_active = [&](worker_id w) {
            for (worker_id v = active.first; v < active.last; ++v)
                if (home_[rank(v)] == context_->core_of(w)) return true;
            return false;
        };
        worker_id w = active.first;
        for (worker_id v = active.last; v < count; ++v) {
            if (!is_of_active(v)) continue;
            while (w < active.last && is_of_active(w)) ++w;
            if (w == active.last) return; // workers share cores
            change(w, v);
        }
    }

    void change(worker_id a, worker_id b) {
        running_.moves(a);
        running_.moves(b);
        context_->exchange(a, b);
    }

    /// `w` has come to a task, as running_ says already. A mark that is read late costs time and nothing else.
    void wake_faster(worker_id w) {
        const workers active = context_->active();
        const double speed = speed_of(w);
        for (worker_id v = active.first; v < active.last; ++v)
            if (at(v).sleeps.load_acquire() && speed_of(v) > speed) { // pairs with the exchange of `sleeps`
                at(v).sleeps.store_relaxed(false);
                return context_->wake({v, v + 1});
            }
    }

    policy_context* context_ = nullptr;
    double exchange_ns_ = 0;
    core_groups groups_;
    work_history history_;
    running_work running_;
    places places_;
    level_queue long_;
    idle_places wide_;
    assembly_queues assembly_;
    queue::cell<int> waiting_{0}; ///< moldable tasks that are ready
    queue::cell<int> molded_{0};  ///< the same, and those that run
    std::vector<int> home_;       ///< of each worker: its core at attach()
    std::unique_ptr<worker[]> mine_;
    queue::spin_lock<> exchanging_;
};

} // namespace

extern constinit const policy_entry hybrid_entry{
    .name = "hybrid",
    .summary = "for unequal cores: steals; fast cores take over what takes long on slow ones; molds",
    .source = "Weft; after Chen & Guo 2017, 5.3.1; Chronaki et al., ICS 2015; Rohlin et al. 2018; Horvath, "
              "Lam, Sethi, JACM 1977",
    .helps = "big.LITTLE, performance and efficiency cores, cores that are slowed; programs of any kind",
    .knobs = {},
    .make = [](const knob_values&) -> std::unique_ptr<policy> { return std::make_unique<hybrid>(); },
};

} // namespace weft::policies
