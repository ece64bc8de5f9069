#include "policy/parts/fair_turns.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cell.hpp"
#include "queue/locked_list.hpp"

/// Work sharing: one pool under one lock for all workers.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 2.2.2.1.
///
/// The book does not say in which order the pool is emptied. First in first out is the default; it keeps the
/// widest level of the task tree pending. With `order=lifo` the youngest task is taken. Tasks that must go
/// behind (roots, tasks that yielded) then have a pool of their own, which is looked at
/// when the first pool is empty and at every 64th turn.
namespace weft::policies {
namespace {

constexpr knob share_knobs[] = {
    {"order", "fifo", "fifo, lifo", "which task of the pool is taken: the oldest or the youngest"},
};

class work_sharing final : public policy {
public:
    explicit work_sharing(bool youngest_first) : youngest_first_(youngest_first) {}

    requirements attach(const machine&, policy_context& context) override {
        context_ = &context;
        pool_place_ = context.all().size();
        return {.demotable = true, .resizable = true};
    }

    placement ready(worker_id, task& t, ready_reason reason) override {
        const bool is_behind = reason == ready_reason::root || goes_behind(reason);
        if (!youngest_first_ && reason != ready_reason::granted) {
            pool_.push_back(&t);
        } else if (is_behind) {
            behind_.push_back(&t);
        } else {
            pool_.push_front(&t); // also a task that was at its turn when the gate refused it
        }
        return {pool_place_, context_->active()};
    }

    // Always a full look, so a last one is no different.
    decision next(worker_id, bool) override {
        task* t = nullptr;
        if (youngest_first_ && (turns_.add(1) + 1) % fair_turns::turns_to_fair == 0)
            t = behind_.try_pop_front();
        if (t == nullptr) t = pool_.try_pop_front();
        if (t == nullptr) t = behind_.try_pop_front();
        return {t, pool_place_};
    }

    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

private:
    const bool youngest_first_;
    place_id pool_place_ = 0;
    policy_context* context_ = nullptr;
    queue::locked_list<task> pool_;   // taken from the front
    queue::locked_list<task> behind_; // empty with order=fifo
    queue::cell<std::uint32_t> turns_;
};

} // namespace

extern constinit const policy_entry share_entry{
    .name = "share",
    .summary = "one central pool under a lock",
    .source = "Chen & Guo 2017, 2.2.2.1",
    .helps = "few cores; a base line for the others",
    .knobs = share_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<work_sharing>(values.is("order", "lifo"));
    },
};

} // namespace weft::policies
