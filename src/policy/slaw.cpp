#include "policy/parts/places.hpp"
#include "policy/parts/worker_domains.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"

#include <cstdint>
#include <memory>

/// Adaptive work stealing: each spawn is child-first or parent-first, by what the worker has and by how much
/// is stolen from it. Steals stay in the own place while there is work.
///
///   Y. Guo, J. Zhao, V. Cavé, V. Sarkar: SLAW, a scalable locality-aware adaptive work-stealing scheduler.
///   IPDPS 2010; Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017,
///   3.2.1.
///
/// At a spawn, in this order:
///
/// 1. The child would be nested more than `stack` deep on its stack: parent-first.
/// 2. More than `fresh` tasks that this worker spawned parent-first have not begun: child-first.
/// 3. Otherwise the mode of the interval decides. An interval is `interval` spawns of the worker. If more
///    tasks than that were stolen from it in the last interval, tasks go faster than they come, and the mode
///    is parent-first. Otherwise, and at the beginning, it is child-first.
///
/// I1. No chain of tasks that run one on top of the other by child-first spawns is longer than `stack`.
/// I2. A worker has at most `fresh` + 1 tasks that have not begun, apart from those that rule 1 makes.
///
/// The book names the thresholds without numbers. It says neither how long an interval is nor which fresh
/// tasks are counted. With an interval in spawns, the comparison is one of tasks stolen with tasks made. A
/// task that blocked takes its stack with it, so nesting is counted for each chain, not for each worker. The
/// places of the paper are sockets here. The paper forbids steals between places; here a thief leaves its own
/// after `tries` failed looks, since the program does not say to which place a task belongs.
namespace weft::policies {
namespace {

constexpr knob slaw_knobs[] = {
    {"stack", "256", "0..1000000", "most child-first spawns one inside the other"},
    {"fresh", "1000", "0..1000000", "most tasks of a worker that have not begun"},
    {"interval", "50", "1..1000000", "spawns of a worker between two choices of its mode"},
    {"tries", "4", "0..1000", "failed looks in a row at the own socket before one at all workers"},
};

class adaptive_stealing final : public policy {
public:
    adaptive_stealing(int stack, int fresh, int interval, int tries)
        : stack_(stack)
        , fresh_(fresh)
        , interval_(interval)
        , tries_(tries) {}

    requirements attach(const machine& m, policy_context& context) override {
        places_.attach(context);
        sockets_.attach(m, context, domain_kind::last_level_cache);
        mine_ = std::make_unique<worker_part[]>(static_cast<std::size_t>(places_.workers_in_all()));
        return {.task_bytes = sizeof(task_part), .demotable = true, .resizable = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override { return places_.put(w, t, reason); }

    decision next(worker_id w, bool last_look) override {
        worker_part& me = of(w);
        if (const decision own = places_.own(w, last_look); own.t != nullptr) {
            me.failures = 0;
            return own;
        }
        const bool wide = me.failures >= tries_;
        const worker_id near = wide || last_look ? -1 : sockets_.random_neighbour(w);
        const worker_id victim = near >= 0 ? near : places_.random_victim(w);
        if (victim < 0) return {};
        const decision found =
            last_look ? look_everywhere(w, victim) : decision{places_.look(victim).t, victim, false};
        if (found.t == nullptr) {
            me.failures = wide ? 0 : me.failures + 1;
            return found;
        }
        me.failures = 0;
        of(found.from).stolen.add(1);
        return found;
    }

    spawn_order spawn(worker_id w, task& parent, task& child) override {
        worker_part& me = of(w);
        if (++me.spawns >= interval_) {
            me.parent_first = me.stolen.exchange(0) > static_cast<std::uint32_t>(interval_);
            me.spawns = 0;
        }
        const int nested = parent.data<task_part>().nested + 1;
        const bool too_deep = nested > stack_;                  // I1
        const bool too_many = me.fresh.load_relaxed() > fresh_; // I2
        if (too_deep || (!too_many && me.parent_first)) {
            child.data<task_part>().fresh_of = w + 1;
            me.fresh.add(1);
            return spawn_order::parent_first;
        }
        child.data<task_part>().nested = nested;
        return spawn_order::child_first;
    }

    void started(worker_id, task& t) override { no_longer_fresh(t); }
    void finished(worker_id, task& t, const usage&) override { no_longer_fresh(t); } // cancelled before

private:
    struct task_part {
        std::int32_t nested;   ///< child-first spawns below it on its stack
        std::int32_t fresh_of; ///< the worker that counts it as fresh + 1; 0: none
    };
    struct alignas(queue::k_cache_line_bytes) worker_part {
        int spawns = 0;                    // in this interval; only its worker, as the next two
        int failures = 0;                  // looks in a row
        bool parent_first = false;         // mode of this interval
        queue::cell<std::uint32_t> stolen; // in this interval; thieves add
        queue::cell<std::int32_t> fresh;   // the worker that starts one takes it off
    };

    worker_part& of(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }

    void no_longer_fresh(task& t) noexcept {
        auto& own = t.data<task_part>();
        if (own.fresh_of == 0) return;
        of(own.fresh_of - 1).fresh.add(-1);
        own.fresh_of = 0;
    }

    /// The own socket first, then all workers, so that one that moves meanwhile is not missed.
    decision look_everywhere(worker_id w, worker_id first) {
        const int count = places_.workers_in_all();
        const int socket = sockets_.of(w);
        for (int i = 0; i < count; ++i) {
            const worker_id victim = (first + i) % count;
            if (victim == w || sockets_.of(victim) != socket) continue;
            if (task* const t = places_.look_hard(victim)) return {t, victim};
        }
        return places_.look_everywhere(w, first);
    }

    const int stack_, fresh_, interval_, tries_;
    places places_;
    worker_domains sockets_;
    std::unique_ptr<worker_part[]> mine_;
};

} // namespace

extern constinit const policy_entry slaw_entry{
    .name = "slaw",
    .summary = "child-first or parent-first at each spawn, by stack, fresh tasks and steals",
    .source = "Guo et al.: SLAW, IPDPS 2010; Chen & Guo 2017, 3.2.1",
    .helps =
        "programs of which neither order is always the better one: deep recursions with wide loops in them",
    .knobs = slaw_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        const auto number = [&](const char* key) { return static_cast<int>(values.integer(key)); };
        return std::make_unique<adaptive_stealing>(number("stack"), number("fresh"), number("interval"),
                                                   number("tries"));
    },
};

} // namespace weft::policies
