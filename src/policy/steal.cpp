#include "policy/parts/places.hpp"
#include "policy/seam/registry.hpp"

/// Child-first random work stealing.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 2.2.2.2
///   and 3.2.1. R. D. Blumofe, C. E. Leiserson: Scheduling multithreaded computations by work stealing. JACM
///   46(5), 1999.
///
/// A worker runs its own youngest task next. If it has none, it looks at one victim, each of the others
/// equally likely, and takes the oldest task there. In the silent zone nearly all that a victim has are
/// hidden frames, in the same order, so a victim whose deque is empty is asked for its oldest frame.
///
/// Child-first order alone serves a task with thousands of short children badly: each child hands the rest
/// of that task to another worker. `wide=queue` is ours: in the silent zone the children of such a wide group
/// are queued, as with help-first order (Y. Guo, R. Barik, R. Raman, V. Sarkar: Work-first and help-first
/// scheduling policies for async-finish task parallelism. IPDPS 2009), and a thief takes half of what a
/// victim has queued.
namespace weft::policies {
namespace {

constexpr knob steal_knobs[] = {
    zone_knob(),
    wide_knob(),
};

class random_stealing final : public policy {
public:
    random_stealing(bool lazy, bool queues) : lazy_(lazy), queues_(lazy && queues) {}

    requirements attach(const machine&, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        return {.lazy = lazy_,
                .wide_groups = queues_,
                .offers_ahead = queues_,
                .demotable = true,
                .resizable = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override { return places_.put(w, t, reason); }

    decision next(worker_id w, bool last_look) override {
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        return places_.look_outside(w, last_look, lazy_,
                                    queues_ ? places::thief_takes::half : places::thief_takes::one);
    }

    // Inactive workers too, so that what they still hold is found.
    workers victims(worker_id) override { return context_->all(); }

    bool queues_child(worker_id w) override { return places_.queues_child(w); }

    spawn_order spawn(worker_id, task&, task&) override {
        return lazy_ ? spawn_order::lazy : spawn_order::child_first;
    }

private:
    const bool lazy_, queues_;
    policy_context* context_ = nullptr;
    places places_;
};

} // namespace

extern constinit const policy_entry steal_entry{
    .name = "steal",
    .summary = "child-first random work stealing",
    .source = "Chen & Guo 2017, 2.2.2.2 and 3.2.1; Blumofe & Leiserson, JACM 1999",
    .helps = "any machine whose cores are equal and share their memory; nested programs",
    .knobs = steal_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<random_stealing>(values.is("zone", "lazy"), values.is("wide", "queue"));
    },
};

} // namespace weft::policies
