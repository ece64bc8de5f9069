#include "policy/parts/performance_trace_table.hpp"
#include "policy/parts/plain_stealing.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/locked_list.hpp"
#include "task/task_class.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

/// Each ready task of a graph goes to the worker on which it would end first, by costs that are found while the graph runs.
///
///   K. Chronaki et al.: Criticality-aware dynamic task scheduling for heterogeneous architectures. ICS 2015 (dHEFT): HEFT
///   (heft.cpp) whose costs are measured, for each type of task and each type of core.
///
/// A worker ends a new task when it has run all that waits in its queue, and what it runs now. Of a type that some class of cores
/// has not run yet, the next task goes to such a core. A type is the task's hints::name. No task of a queue is stolen, unless its worker is no longer active. All other
/// tasks are stolen at random.
namespace weft::policies {
namespace {

class dynamic_earliest_finish final : public plain_stealing {
public:
    requirements attach(const machine& m, policy_context& context) override {
        requirements need = attach_plain(context);
        times_.attach(m, context, false);
        mine_ = std::make_unique<queue_of_worker[]>(static_cast<std::size_t>(context.all().size()));
        need.task_bytes = sizeof(node);
        need.resizable = true;
        need.levels = true; // so that tasks know their graph
        return need;
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (!is_node(t, reason)) return plain_stealing::ready(w, t, reason);
        if (reason == ready_reason::granted) leave_queue(t.data<node>()); // it was in one before
        const int type = times_.type_of(class_of(t));
        const worker_id v = first_to_end(w, type);
        t.data<node>() = {
            .expected = times_.time_like(type, {v, 1}), .since = 0, .type = type, .queue = v + 1};
        at(v).expected.add(t.data<node>().expected);
        at(v).open.add(1);
        at(v).tasks.push_back(&t);
        return {v, {v, v + 1}};
    }

    decision next(worker_id w, bool last_look) override {
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        if (task* const t = at(w).tasks.try_pop_front()) return {t, w};
        if (last_look) { // what lies at workers that are no longer active
            const worker_id all = context_->all().last;
            for (worker_id v = context_->active().last; v < all; ++v)
                if (task* const t = at(v).tasks.pop_front()) return {t, v};
        }
        return places_.look_outside(w, last_look, true, places::thief_takes::half);
    }

    void started(worker_id, task& t) override {
        if (t.graph() != 0) t.data<node>().since = context_->now();
    }
    void finished(worker_id w, task& t, const usage& used) override {
        const auto& own = t.data<node>();
        if (t.graph() == 0 || own.queue == 0) return;
        leave_queue(own);
        if (!used.cancelled) times_.update(own.type, {w, 1}, context_->now() - own.since);
    }

private:
    struct node { // of the policy's bytes
        time_ns expected, since;
        std::int32_t type;
        worker_id queue; ///< + 1; 0: in none
    };
    struct alignas(queue::k_cache_line_bytes) queue_of_worker {
        queue::locked_list<task> tasks;   ///< any worker puts, its own takes; once it is inactive, any
        queue::cell<time_ns> expected{0}; ///< of those that have not ended
        queue::cell<int> open{0};         ///< their number
    };

    queue_of_worker& at(worker_id w) const noexcept { return mine_[static_cast<std::size_t>(w)]; }

    void leave_queue(const node& of) noexcept {
        if (of.queue == 0) return;
        at(of.queue - 1).expected.add(-of.expected);
        at(of.queue - 1).open.add(-1);
    }

    /// Of equal active workers, the first from `w` on and around.
    worker_id first_to_end(worker_id w, int type) const noexcept {
        const int count = context_->active().size();
        worker_id best = w;
        bool best_is_known = true, has_best = false;
        time_ns soonest = 0;
        for (int i = 0; i < count; ++i) {
            const worker_id v = (w + i) % count;
            const time_ns takes = times_.time_like(type, {v, 1});
            const bool is_known = takes != 0;
            // What was never measured comes first, there the worker with the fewest tasks.
            const time_ns ends = is_known ? at(v).expected.load_relaxed() + takes : at(v).open.load_relaxed();
            if (has_best && (is_known != best_is_known ? is_known : ends >= soonest)) continue;
            best = v;
            best_is_known = is_known;
            soonest = ends;
            has_best = true;
        }
        return best;
    }

    performance_trace_table times_;
    std::unique_ptr<queue_of_worker[]> mine_;
};

} // namespace

extern constinit const policy_entry dheft_entry{
    .name = "dheft",
    .summary = "graphs: each ready task where it ends first, by measured costs",
    .source = "Chronaki et al., ICS 2015: dHEFT; after Topcuoglu, Hariri, Wu, IEEE TPDS 2002",
    .wants = "graphs, with a name for each type of task",
    .helps = "cores of different speed, and graphs whose costs are not known before they run",
    .knobs = {},
    .make = [](const knob_values&) -> std::unique_ptr<policy> {
        return std::make_unique<dynamic_earliest_finish>();
    },
};

} // namespace weft::policies
