#include "policy/parts/places.hpp"
#include "policy/seam/registry.hpp"

#include "queue/locked_list.hpp"

#include <memory>

/// Priority scheduling for analysis in situ: a simulation has the cores whenever it wants them, and the analysis of its
/// data has them when the simulation waits.
///
///   S. Shiina: Efficient Thread Scheduling Strategies for Nested Parallel Programs. Master's thesis, University of
///   Tokyo 2021, 3.3.4; with the steals of its artifact (s417-lama/ppopp21-preemption-artifact).
///
/// A task is of low priority if its hint is below 0, and of high priority if it is above; without a hint it is as its
/// parent. Workers take tasks of high priority first, from one pool for all; then their own tasks of low priority, the youngest
/// first; then the oldest of another worker. At a tick a task that has a type makes room if one of high priority waits. One of low priority
/// comes back on top of its worker's own, so that it continues there next.
namespace weft::policies {
namespace {

constexpr knob insitu_knobs[] = {
    {"steal", "on", "on, off",
     "whether a worker looks at another one's tasks of low priority; off: only before it sleeps"},
};

class insitu final : public policy {
public:
    explicit insitu(bool steals) : steals_(steals) {}

    requirements attach(const machine&, policy_context& context) override {
        context_ = &context;
        low_.attach(context);
        return {.task_bytes = sizeof(own), .demotable = true, .resizable = true};
    }

    spawn_order spawn(worker_id, task& parent, task& child) override {
        child.data<own>().descends_from_low = is_low(parent);
        return spawn_order::parent_first;
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (is_low(t)) // a preempted one is put on top
            return low_.put(w, t, reason == ready_reason::preempted ? ready_reason::unblocked : reason);
        if (reason == ready_reason::granted) // it was at its turn when the gate refused it
            high_.push_front(&t);
        else
            high_.push_back(&t);
        return {high_place(), context_->active()};
    }

    decision next(worker_id w, bool last_look) override {
        if (task* const t = high_.try_pop_front()) return {t, high_place()};
        if (const decision mine = low_.own(w, last_look); mine.t != nullptr) return mine;
        if (!steals_ && !last_look) return {};
        return low_.look_outside(w, last_look, false);
    }

    bool gives_way(worker_id, const task&) override { return !high_.empty(); }

private:
    struct own {
        bool descends_from_low;
    };

    static bool is_low(const task& t) noexcept {
        return t.hint().priority < 0 || (t.hint().priority == 0 && t.data<own>().descends_from_low);
    }
    place_id high_place() const noexcept { return low_.root_place() + 1; }

    const bool steals_;
    policy_context* context_ = nullptr;
    places low_;
    queue::locked_list<task> high_; ///< first in, first out
};

} // namespace

extern constinit const policy_entry insitu_entry{
    .name = "insitu",
    .summary = "tasks of low priority where those of high priority leave cores idle",
    .source = "Shiina 2021, 3.3.4",
    .wants = "a priority below 0 for the analysis, and a type of preemption",
    .helps = "a simulation whose data are analysed while it goes on",
    .knobs = insitu_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<insitu>(values.is("steal", "on"));
    },
};

} // namespace weft::policies
