#include "policy/parts/batch_gate.hpp"
#include "policy/parts/core_groups.hpp"
#include "policy/parts/fair_turns.hpp"
#include "policy/parts/optimal_cut.hpp"
#include "policy/parts/places.hpp"
#include "policy/seam/registry.hpp"

#include "queue/locked_list.hpp"
#include "queue/spin_lock.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

/// The near-optimal allocation of a batch of tasks whose durations are known: what other policies for unequal cores are
/// measured against.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.4 and 5.5, Algorithm 8.
///
/// It is told each task's work, so it is an oracle and no proposal. When a batch is complete (batch_gate.hpp) its tasks are sorted
/// by descending work and divided among the groups of equal cores (optimal_cut.hpp). A worker takes the heaviest task of
/// its own group's list, and no other group's.
///
/// Resolved where the source is silent:
/// - A task of work w takes w / v on a core of speed v. Tasks without work are alike.
/// - A batch of more than most_tasks tasks is divided in parts of that size.
/// - A task that comes while no batch is being added to (of a graph, or added by a task of the batch) is taken by any
///   worker that has no other.
///
/// Ours, in no source, and off by default: `allocate=finish` gives each task, the heaviest first, to the core that would end it
/// first (list scheduling on uniform machines), since the spans of Algorithm 8 divide tasks that cannot be divided.
namespace weft::policies {
namespace {

constexpr knob optimal_knobs[] = {
    {"allocate", "cut", "cut, finish",
     "cut: contiguous parts by Algorithm 8; finish (ours): each task where it would end first"},
};

class optimal final : public policy {
public:
    static constexpr int most_tasks = 1024;

    explicit optimal(bool by_finish) : by_finish_(by_finish) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        groups_.attach(m, context);
        lists_ = std::make_unique<queue::locked_list<task>[]>(at(groups_.count()));
        turns_ = std::make_unique<fair_turns[]>(at(context.all().size()));
        sorted_.resize(most_tasks);
        busy_until_.resize(at(context.all().size()));
        if (!by_finish_) cuts_.attach(most_tasks, groups_.count());
        constexpr time_ns a_millisecond = 1'000'000;
        return {.task_bytes = sizeof(batch_gate::task_part), .demotable = true, .tick = a_millisecond};
    }

    spawn_order spawn(worker_id, task&, task& child) override {
        part(child).called = true;
        gate_.added();
        return spawn_order::parent_first;
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        part(t).called = false;
        const bool is_new = reason == ready_reason::spawned || reason == ready_reason::released;
        if (!is_new) return places_.put(w, t, reason);
        if (gate_.is_open()) {
            late_.push_back(&t);
            return {late_place(), context_->active()};
        }
        batch_.push_back(&t);
        if (!gate_.keeps()) divide();
        return {late_place() + 1, {}};
    }

    decision next(worker_id w, bool last_look) override {
        if (places_.length(w) > 0) // what the worker has begun
            if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        const bool roots_first = turns_[at(w)].begin() != turn::usual;
        if (!roots_first)
            if (const decision found = take(w); found.t != nullptr) return found;
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        if (roots_first)
            if (const decision found = take(w); found.t != nullptr) return found;
        return places_.look_outside(w, last_look, false);
    }

    void group_begin(worker_id, task& owner, group&) override { gate_.begins(part(owner)); }
    after_wait group_wait(worker_id, task& t, group& g) override {
        if (g.owner() == &t && gate_.waits(part(t))) divide();
        return after_wait::stay;
    }
    void blocked(worker_id, task& t, ready_reason) override {
        if (gate_.suspends(t, [](task& of) -> auto& { return part(of); })) divide();
    }
    void finished(worker_id, task& t, const usage&) override {
        if (gate_.stops(part(t))) divide();
    }
    void tick(time_ns) override {
        if (gate_.tick()) divide();
    }

private:
    static std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }
    static batch_gate::task_part& part(task& t) noexcept { return t.data<batch_gate::task_part>(); }
    static double work_of(const task& t) noexcept { return t.hint().work > 0 ? t.hint().work : 1; }
    place_id late_place() const noexcept { return places_.root_place() + 1; }

    decision take(worker_id w) noexcept {
        const int mine = groups_.of(w);
        if (task* const t = lists_[at(mine)].try_pop_front()) return {t, late_place() + 2 + mine};
        return {late_.try_pop_front(), late_place()};
    }

    void divide() {
        {
            const std::lock_guard held(dividing_);
            while (const int count = take_batch()) {
                const auto heavier = [](const task* a, const task* b) { return work_of(*a) > work_of(*b); };
                std::sort(sorted_.begin(), sorted_.begin() + count, heavier);
                by_finish_ ? divide_by_finish(count) : divide_by_cut(count);
            }
        }
        context_->wake(context_->all());
    }
    int take_batch() noexcept {
        int count = 0;
        while (count < most_tasks && (sorted_[at(count)] = batch_.pop_front()) != nullptr) ++count;
        return count;
    }

    void divide_by_cut(int count) noexcept {
        const auto ends = cuts_.find(
            count, [&](int i, int g) { return work_of(*sorted_[at(i)]) / groups_.speed(g); },
            [&](int g) { return std::max(groups_.workers_in(g), 1); });
        for (int g = 0, i = 0; g < groups_.count(); ++g)
            for (; i < ends[at(g)]; ++i) lists_[at(g)].push_back(sorted_[at(i)]);
    }

    void divide_by_finish(int count) noexcept {
        std::fill(busy_until_.begin(), busy_until_.end(), 0.0);
        for (int i = 0; i < count; ++i) {
            const double work = work_of(*sorted_[at(i)]);
            const auto end_on = [&](worker_id w) {
                return busy_until_[at(w)] + work / groups_.speed(groups_.of(w));
            };
            worker_id first = 0;
            for (worker_id w = 1; w < context_->all().size(); ++w)
                if (end_on(w) < end_on(first)) first = w;
            busy_until_[at(first)] = end_on(first);
            lists_[at(groups_.of(first))].push_back(sorted_[at(i)]);
        }
    }

    const bool by_finish_;
    policy_context* context_ = nullptr;
    places places_; // roots, and tasks that have begun
    core_groups groups_;
    batch_gate gate_;
    std::unique_ptr<fair_turns[]> turns_; // each only of its worker
    queue::locked_list<task> batch_, late_;
    std::unique_ptr<queue::locked_list<task>[]> lists_; // by group, the heaviest first

    queue::spin_lock<> dividing_;
    std::vector<task*> sorted_;      // under dividing_, as the two below
    std::vector<double> busy_until_; // by worker
    optimal_cut cuts_;
};

} // namespace

extern constinit const policy_entry optimal_entry{
    .name = "optimal",
    .summary = "batches divided among unequal cores by the known work of tasks",
    .source = "Chen & Guo 2017, 5.5, Algorithm 8",
    .wants = "work of each task",
    .helps = "to see how far another policy for unequal cores is from the best",
    .knobs = optimal_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<optimal>(values.is("allocate", "finish"));
    },
};

} // namespace weft::policies
