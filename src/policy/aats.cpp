#include "policy/parts/batch_gate.hpp"
#include "policy/parts/class_history.hpp"
#include "policy/parts/core_groups.hpp"
#include "policy/parts/core_snatching.hpp"
#include "policy/parts/fair_turns.hpp"
#include "policy/parts/places.hpp"
#include "policy/parts/task_clusters.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cell.hpp"
#include "queue/locked_list.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

/// AATS: asymmetry-aware task scheduling.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.6 to 5.9.
///
/// Cores of equal speed are a group, the fastest first (core_groups.hpp). Tasks of one function are a class with a pool of its
/// own; what the tasks of a class took on the cores of each group is remembered (class_history.hpp). When a batch is complete
/// (batch_gate.hpp) or, with mode=pipeline, at every tick, the classes are divided among the groups by Algorithm 8: the pools of a group's
/// classes are its cluster (task_clusters.hpp). A worker takes a task from a random pool of its own group's cluster, then of slower groups,
/// then of faster ones (Algorithm 9); with order=class it takes the pools of a cluster in the order of their classes, the "basic strategy" of
/// 5.8.1, which the book leaves for the sake of the pools' locks. Until every class has been timed on every group it takes one from any random pool.
///
/// Spawns are parent-first. The main task, a root that comes while there is no other, begins and continues on the fastest group's
/// workers. Other roots, such as those of futures, are tasks like any.
///
/// Divide and conquer: a class that spawns itself, or a class from which it descends, tells nothing by its name. From the moment
/// at which one is seen, what remains of the program is stolen at random, child-first and silently, as under `steal`. The book's
/// compiler decides it before the program begins.
///
/// Resolved where the source is silent:
/// - Pools are first in, first out, and no worker takes from the middle of one.
/// - A program with more than task_clusters::most classes has one pool for the rest.
/// - On a machine with one group there is nothing to divide, and tasks are stolen parent-first ("in the similar way as PFWS", 5.10.2).
///   With pools the order of tasks would be another one, since a random pool is not a random task.
/// - A task that has begun (it waited, or was preempted) stays with its worker, and other workers take it last.
/// - Another worker takes the main task only before it sleeps.
/// - With ts, AATS-TS (5.10.5), a worker that finds no task takes over the largest one on slower cores (core_snatching.hpp). How large a
///   task is says its class: what such a task takes on the fastest group. A task of a class that was never timed there is the
///   smallest. Among equals one is drawn. No worker snatches while the classes are not divided: how large tasks are is not known, and if
///   fast cores took over what slow ones have begun, no task of a class might ever end on a slow core.
/// - A task that ends in another group than it began in is no measure of either.
///
/// Ours, in no source, and off by default: `guard`. A worker of a slower group leaves a task of a faster group's cluster where it is
/// if the task would take longer on the slower core than the faster group needs for all that waits in its cluster; of the
/// classes that it may take, it takes the lightest. The book's rule lets slow cores that are done early begin heavy
/// tasks, which then end last.
namespace weft::policies {
namespace {

constexpr knob aats_knobs[] = {
    {"mode", "batch", "batch, pipeline",
     "batch: workers wait until all tasks of a batch are spawned; pipeline: classes are divided at every "
     "tick"},
    {"order", "random", "random, class",
     "which pool of a cluster is next: a random one, or the one whose class has the longest tasks (5.8.1)"},
    {"np", "off", "on, off", "AATS-NP: a worker takes tasks of its own group's cluster only"},
    {"ts", "off", "on, off",
     "AATS-TS: a worker that finds no task takes over the largest one of slower cores"},
    {"guard", "off", "on, off",
     "ours: slow cores leave heavy tasks to faster ones that will come to them sooner"},
};

class aats final : public policy {
public:
    struct settings {
        bool batch, in_order, np, ts, guard;
    };

    static constexpr int pieces_a_worker = 8;

    explicit aats(const settings& s) : set_(s) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        groups_.attach(m, context);
        is_flat_ = groups_.count() < 2;
        if (is_flat_) return {.demotable = true, .resizable = true};
        classes_.emplace(groups_.speeds());
        clusters_.attach(groups_, *classes_,
                         {.own_only = set_.np, .guard = set_.guard, .in_order = set_.in_order});
        if (set_.ts) snatching_.attach(groups_, context);
        mine_ = std::make_unique<worker[]>(at(context.all().size()));
        constexpr time_ns a_millisecond = 1'000'000;
        return {.task_bytes = sizeof(task_part),
                .own_usage = true,
                .own_misses = true,
                .demotable = true,
                .resizable = !set_.np && !set_.guard, // else tasks wait for the cores of one group
                .snapshots = set_.ts,
                .exchanges = set_.ts,
                .tick = a_millisecond};
    }

    // ---- classes

    spawn_order spawn(worker_id, task& parent, task& child) override {
        if (is_flat_) return spawn_order::parent_first;
        if (is_stolen_.load_relaxed()) return spawn_order::lazy;
        const auto& p = parent.data<task_part>();
        auto& c = child.data<task_part>();
        classify(child);
        const std::uint64_t own = std::uint64_t{1} << c.pool();
        if ((p.around & own) != 0) steal_from_now_on();
        c.around = p.around | own;
        c.adds.called = true;
        gate_.added();
        return spawn_order::parent_first;
    }

    void started(worker_id w, task& t) override {
        if (is_flat_) return;
        auto& own = t.data<task_part>();
        own.began_on = static_cast<std::int8_t>(clusters_.group_of(w) + 1);
        if (set_.ts) snatching_.comes_to_a_task(w);
    }
    void resumed(worker_id w, task&) override {
        if (!is_flat_ && set_.ts) snatching_.comes_to_a_task(w);
    }

    void finished(worker_id w, task& t, const usage& used) override {
        if (is_flat_) return;
        auto& own = t.data<task_part>();
        if (gate_.stops(own.adds)) open();
        if (own.is_main) has_main_.store_relaxed(false);
        const int here = clusters_.group_of(w);
        if (own.number == 0 || own.began_on != here + 1 || used.cancelled || is_stolen_.load_relaxed())
            return;
        classes_->completed(clusters_.class_in(own.pool()), here, used);
    }

    // ---- batches

    void group_begin(worker_id, task& owner, group&) override {
        if (!is_flat_ && set_.batch && !is_stolen_.load_relaxed()) gate_.begins(owner.data<task_part>().adds);
    }
    after_wait group_wait(worker_id, task& t, group& g) override {
        if (!is_flat_ && g.owner() == &t && gate_.waits(t.data<task_part>().adds)) open();
        return after_wait::stay;
    }
    void blocked(worker_id, task& t, ready_reason) override {
        const auto part = [](task& of) -> auto& { return of.data<task_part>().adds; };
        if (!is_flat_ && gate_.suspends(t, part)) open();
    }
    void tick(time_ns) override {
        if (gate_.tick()) open();
        if (!set_.batch && clusters_.divide_history() && (set_.np || set_.guard))
            context_->wake(context_->all());
    }

    /// A loop is a batch of equal tasks. Halves of halves would look like divide and conquer.
    int pieces(worker_id, task&) override { return is_flat_ ? 0 : pieces_a_worker * context_->all().size(); }

    // ---- queues

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (is_flat_) return places_.put(w, t, reason);
        auto& own = t.data<task_part>();
        own.adds.called = false;
        if (bool none = false; reason == ready_reason::root)
            own.is_main = has_main_.compare_exchange(none, true);
        if (own.is_main && !goes_behind(reason) && !is_stolen_.load_relaxed()) {
            reason == ready_reason::root ? mains_.push_back(&t) : mains_.push_front(&t);
            return for_group(0, main_place());
        }
        if (!t.fresh() || own.is_main || reason == ready_reason::exposed) return places_.put(w, t, reason);
        if (own.number == 0) classify(t); // of a graph, or of a future
        const int pool = own.pool();      // once it is there it may run, and end
        clusters_.put(pool, t);
        if (!gate_.is_open() && gate_.keeps()) return {place_of(pool), {}};
        if ((set_.np || set_.guard) && clusters_.are_divided())
            return for_group(clusters_.cluster_of(pool), place_of(pool));
        return {place_of(pool), context_->active()};
    }

    decision next(worker_id w, bool last_look) override {
        if (is_flat_) {
            const decision own = places_.own(w, last_look);
            return own.t != nullptr ? own : places_.look_outside(w, last_look, false);
        }
        if (!set_.ts) return look(w, last_look);
        snatching_.looks(w);
        const decision found = look(w, last_look);
        const bool was_late = found.from >= place_of(0); // another worker has emptied the pool
        if (found.t == nullptr && !was_late && !places_.keeps_behind(w)) {
            if (last_look) snatching_.sleeps(w);
            snatch(w);
        }
        return found;
    }

    workers victims(worker_id) override { return is_stolen_.load_relaxed() ? context_->all() : workers{}; }

private:
    decision look(worker_id w, bool last_look) {
        // What the worker has begun comes first, and at every 64th turn what waits behind.
        if (places_.length(w) > 0)
            if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        const turn now = mine_[at(w)].turns.begin();
        if (now == turn::usual) {
            if (const decision found = look_at_pools(w, last_look); found.from >= 0) return found;
        }
        if (now != turn::even_fair)
            if (task* const t = take_main(w, last_look)) return {t, main_place()};
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        if (now != turn::usual) {
            if (task* const t = take_main(w, last_look)) return {t, main_place()};
            if (const decision found = look_at_pools(w, last_look); found.from >= 0) return found;
        }
        return places_.look_outside(w, last_look, is_stolen_.load_relaxed());
    }

    void snatch(worker_id w) {
        if (is_stolen_.load_relaxed() || !clusters_.are_divided()) return;
        snatching_.snatch(
            w, [&](const snapshot& s) { return classes_->time(classes_->find(s.of_class), 0).value_or(0); });
    }

    struct task_part {
        std::uint64_t around; ///< the classes of the task and of those that it descends from
        batch_gate::task_part adds;
        std::uint8_t number;  ///< of its class's pool, and 1; 0: none yet
        std::int8_t began_on; ///< a group, and 1
        bool is_main;

        int pool() const noexcept { return number - 1; }
    };
    struct alignas(queue::k_cache_line_bytes) worker { // only its worker touches it
        fair_turns turns;
    };

    static std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }
    place_id main_place() const noexcept { return places_.root_place() + 1; }
    place_id place_of(int pool) const noexcept { return main_place() + 1 + pool; }

    /// For any active worker of that group, or for all if it has none. Its ranks need not be adjacent.
    placement for_group(int g, place_id place) const {
        workers run{}, first{};
        int runs = 0;
        const workers active = context_->active();
        for (worker_id w = active.first; w <= active.last; ++w) {
            if (w < active.last && clusters_.group_of(w) == g) {
                if (run.empty()) run.first = w;
                run.last = w + 1;
            } else if (!run.empty()) {
                if (runs++ == 0)
                    first = run;
                else
                    context_->wake(run);
                run = {};
            }
        }
        if (runs == 0) return {place, active};
        if (runs == 1) return {place, first};
        if (runs > 1) context_->wake(first);
        // wake() has a fence: a number that has not changed until here is one whose workers were woken.
        return {place, context_->active().last == active.last ? workers{} : context_->active()};
    }

    void classify(task& t) noexcept {
        t.data<task_part>().number = static_cast<std::uint8_t>(clusters_.pool_of(t) + 1);
    }

    /// The batch is complete.
    void open() {
        clusters_.divide_batch();
        context_->wake(context_->all());
    }

    void steal_from_now_on() {
        is_stolen_.store_relaxed(true);
        gate_.give_up();
        context_->wake(context_->all()); // victims() has changed
    }

    task* take_main(worker_id w, bool last_look) noexcept {
        return clusters_.group_of(w) == 0 || last_look || is_stolen_.load_relaxed() ? mains_.try_pop_front()
                                                                                    : nullptr;
    }

    /// With `from` below 0 there was no pool to look at.
    decision look_at_pools(worker_id w, bool last_look) noexcept {
        if (!gate_.is_open()) return {nullptr, -1};
        for (;;) {
            const task_clusters::look found = clusters_.take(
                clusters_.group_of(w), [&](std::uint32_t below) { return context_->random(w, below); });
            if (found.pool < 0) return {nullptr, -1};
            if (found.t != nullptr || !last_look) return {found.t, place_of(found.pool)};
        }
    }

    const settings set_;
    policy_context* context_ = nullptr;
    core_groups groups_;
    bool is_flat_ = false;                 // all cores are alike
    std::optional<class_history> classes_; // by attach(); none if is_flat_
    task_clusters clusters_;
    core_snatching snatching_; // with ts
    batch_gate gate_;
    places places_;                  // tasks that have begun; after is_stolen_, all
    queue::locked_list<task> mains_; // roots, for the fastest group
    std::unique_ptr<worker[]> mine_;
    queue::cell<bool> has_main_;  // a root that is the main task has not ended
    queue::cell<bool> is_stolen_; // never false again
};

} // namespace

extern constinit const policy_entry aats_entry{
    .name = "aats",
    .summary =
        "classes of tasks divided among unequal cores by what they took before; helps the weaker first",
    .source = "Chen & Guo 2017, chapter 5",
    .wants = "a name or a key for each class of tasks",
    .helps = "cores of unequal speed, and batches or pipelines of tasks of few, different sizes",
    .knobs = aats_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<aats>(aats::settings{.batch = values.is("mode", "batch"),
                                                     .in_order = values.is("order", "class"),
                                                     .np = values.flag("np"),
                                                     .ts = values.flag("ts"),
                                                     .guard = values.flag("guard")});
    },
};

} // namespace weft::policies
