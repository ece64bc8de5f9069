#include "policy/parts/places.hpp"
#include "policy/seam/registry.hpp"

/// Parent-first (help-first) random work stealing.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 3.2.1
///   and 3.5.2.
///
/// A spawned child is offered, and the parent continues. The book's breadth-first order (Fig. 3.10) needs an
/// owner that takes its oldest task: `order=fifo`. That order keeps the widest level of the task tree
/// pending, so by default the owner takes its youngest. Thieves take the oldest either way.
namespace weft::policies {
namespace {

constexpr knob parent_first_knobs[] = {
    {"order", "lifo", "lifo, fifo", "which of its own tasks a worker takes: the youngest or the oldest"},
};

class parent_first_stealing final : public policy {
public:
    explicit parent_first_stealing(places::owner_takes end) : end_(end) {}

    requirements attach(const machine&, policy_context& context) override {
        places_.attach(context, end_);
        return {.demotable = true, .resizable = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override { return places_.put(w, t, reason); }

    // No worker is asked: every spawn is reported, so no frame is hidden.
    decision next(worker_id w, bool last_look) override {
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        return places_.look_outside(w, last_look, false);
    }

    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

private:
    const places::owner_takes end_;
    places places_;
};

} // namespace

extern constinit const policy_entry steal_parent_first_entry{
    .name = "steal-parent-first",
    .summary = "parent-first random work stealing",
    .source = "Chen & Guo 2017, 3.2.1 and 3.5.2",
    .helps = "as steal, for loops that spawn many short tasks: the spawner is not left waiting to be stolen",
    .knobs = parent_first_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<parent_first_stealing>(
            values.is("order", "fifo") ? places::owner_takes::oldest : places::owner_takes::youngest);
    },
};

} // namespace weft::policies
