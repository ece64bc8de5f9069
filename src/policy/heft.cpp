#include "policy/parts/finish_times.hpp"
#include "policy/parts/performance_trace_table.hpp"
#include "policy/parts/plain_stealing.hpp"
#include "policy/seam/registry.hpp"

#include "machine/machine.hpp"

#include "queue/cache_line.hpp"
#include "queue/pairing_heap.hpp"
#include "queue/spin_lock.hpp"
#include "task/task_class.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

/// A static schedule of each graph, made when its run begins.
///
///   H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-effective and low-complexity task scheduling for heterogeneous computing.
///   IEEE TPDS 13(3), 2002 (HEFT). The schedule: finish_times.hpp.
///
/// Each worker runs the tasks that the schedule gives it, in the order of their planned starts; a task that is not ready yet is
/// passed over. No task of a schedule is stolen, unless its worker is no longer active. A schedule has the workers that are active
/// when its run begins. A cost is the hint `work`, 1 if there is none, divided by the speed of the core;
/// with cost=history it is what tasks of that name took in earlier runs, once all classes of cores have run one. Tasks that are
/// added while the graph runs are scheduled behind what is planned. All other tasks are stolen at random.
namespace weft::policies {
namespace {

constexpr knob heft_knobs[] = {
    {"cost", "work", "work, history",
     "what a task costs; work: its hint, by the speed of the core; history: as measured before"},
};

class earliest_finish final : public plain_stealing {
public:
    explicit earliest_finish(bool by_history) : by_history_(by_history) {}

    requirements attach(const machine& m, policy_context& context) override {
        requirements need = attach_plain(context);
        times_.attach(m, context, false);
        for (worker_id w = 0; w < context.all().size(); ++w) speed_.push_back(m.speed_of(context.core_of(w)));
        mine_ = std::make_unique<schedule_of_worker[]>(speed_.size());
        need.task_bytes = sizeof(node);
        need.levels = true;
        need.resizable = true;
        return need;
    }

    void graph_grew(worker_id, const graph_view& g) override {
        std::unique_ptr<plan> made = take(g.id());
        if (made == nullptr)
            made = std::make_unique<plan>(plan{g.id(), finish_times(context_->active().size())});
        made->times.extend(g, [&](std::uint32_t t, worker_id w) { return cost(g.hint(t), w); });
        put(std::move(made));
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (!is_node(t, reason)) return plain_stealing::ready(w, t, reason);
        const finish_times::slot planned = find(t);
        if (planned.worker < 0) return plain_stealing::ready(w, t, reason);
        t.data<node>() = {.start = planned.start, .since = 0};
        schedule_of_worker& q = mine_[static_cast<std::size_t>(planned.worker)];
        q.lock.lock();
        q.tasks.push(&t);
        q.lock.unlock();
        return {planned.worker, {planned.worker, planned.worker + 1}};
    }

    decision next(worker_id w, bool last_look) override {
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        if (task* const t = pop(w)) return {t, w};
        if (last_look) { // what lies at workers that are no longer active
            const worker_id all = context_->all().last;
            for (worker_id v = context_->active().last; v < all; ++v)
                if (task* const t = pop(v)) return {t, v};
        }
        return places_.look_outside(w, last_look, true, places::thief_takes::half);
    }

    void started(worker_id, task& t) override {
        if (by_history_ && t.graph() != 0) t.data<node>().since = context_->now();
    }
    void finished(worker_id w, task& t, const usage& used) override {
        if (by_history_ && t.graph() != 0 && !used.cancelled)
            times_.update(times_.type_of(class_of(t.hint(), nullptr)), {w, 1},
                          context_->now() - t.data<node>().since);
    }

private:
    struct node { // of the policy's bytes
        double start;
        time_ns since;
    };
    struct starts_first {
        bool operator()(task& a, task& b) const noexcept {
            return a.data<node>().start < b.data<node>().start;
        }
    };
    struct alignas(queue::k_cache_line_bytes) schedule_of_worker {
        queue::spin_lock<> lock; // any worker puts, its own takes; once it is inactive, any
        queue::pairing_heap<task, starts_first> tasks;
    };
    struct plan {
        std::uint64_t graph;
        finish_times times;
    };
    static constexpr std::size_t most_plans = 64; ///< runs at one time; tasks of others are stolen at random

    task* pop(worker_id w) noexcept {
        schedule_of_worker& q = mine_[static_cast<std::size_t>(w)];
        q.lock.lock();
        task* const t = q.tasks.pop();
        q.lock.unlock();
        return t;
    }

    double cost(const hints& h, worker_id w) {
        const auto at = static_cast<std::size_t>(w);
        if (by_history_) {
            const int type = times_.type_of(class_of(h, nullptr));
            bool is_known = true;
            for (std::size_t v = 0; v < speed_.size(); ++v)
                is_known = is_known && times_.time_like(type, {static_cast<worker_id>(v), 1}) != 0;
            if (is_known) return static_cast<double>(times_.time_like(type, {w, 1}));
        }
        return (std::isfinite(h.work) && h.work > 0 ? h.work : 1) / speed_[at];
    }

    finish_times::slot find(const task& t) noexcept {
        finish_times::slot found;
        plans_lock_.lock();
        for (const auto& p : plans_)
            if (p != nullptr && p->graph == t.graph() && t.graph_number() < p->times.size())
                found = p->times.of(t.graph_number());
        plans_lock_.unlock();
        return found;
    }
    /// While a plan is extended it is not among the others: tasks that come meanwhile are stolen at random.
    std::unique_ptr<plan> take(std::uint64_t graph) noexcept {
        std::unique_ptr<plan> found;
        plans_lock_.lock();
        for (auto& p : plans_)
            if (p != nullptr && p->graph == graph) found = std::move(p);
        plans_lock_.unlock();
        return found;
    }
    /// In place of an empty one, or of the oldest.
    void put(std::unique_ptr<plan> made) noexcept {
        plans_lock_.lock();
        std::unique_ptr<plan>* oldest = &plans_[0];
        for (auto& p : plans_) {
            if (p == nullptr) {
                oldest = &p;
                break;
            }
            if (p->graph < (*oldest)->graph) oldest = &p;
        }
        std::swap(*oldest, made);
        plans_lock_.unlock(); // before the old one is destroyed
    }

    const bool by_history_;
    performance_trace_table times_;
    std::vector<double> speed_; ///< of each worker's core
    std::unique_ptr<schedule_of_worker[]> mine_;
    queue::spin_lock<> plans_lock_;
    std::array<std::unique_ptr<plan>, most_plans> plans_;
};

} // namespace

extern constinit const policy_entry heft_entry{
    .name = "heft",
    .summary = "graphs: a static schedule by earliest finish times",
    .source = "Topcuoglu, Hariri, Wu, IEEE TPDS 2002",
    .wants = "graphs, with the hint work of each task",
    .helps = "cores of different speed, and graphs whose costs are known before they run",
    .knobs = heft_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<earliest_finish>(values.is("cost", "history"));
    },
};

} // namespace weft::policies
