#include "policy/seam/registry.hpp"

#include "queue/locked_list.hpp"

/// One task at a time, on worker 0, in the order in which the program without its parallel words would run:
/// the reference for other policies.
///
/// Spawns are silent and no worker asks for frames, so a root runs to its end like a serial program. If it
/// blocks, another task gets its turn: first what its blocking exposed, the youngest first as in the serial
/// program, then the other roots in the order of their arrival.
namespace weft::policies {
namespace {

class one_at_a_time final : public policy {
public:
    requirements attach(const machine&, policy_context&) override { return {.lazy = true}; }

    placement ready(worker_id, task& t, ready_reason reason) override {
        if (reason == ready_reason::root || goes_behind(reason)) {
            line_.push_back(&t);
        } else {
            line_.push_front(&t);
        }
        return {0, {0, 1}};
    }

    decision next(worker_id w, bool) override { return {w == 0 ? line_.try_pop_front() : nullptr, 0}; }

private:
    queue::locked_list<task> line_; // any worker may put in, worker 0 takes out at the front
};

} // namespace

extern constinit const policy_entry serial_entry{
    .name = "serial",
    .summary = "one task at a time on one worker, in program order",
    .source = "the program without its parallel words",
    .helps = "one worker does all: what a parallel run is measured by",
    .knobs = {},
    .make = [](const knob_values&) -> std::unique_ptr<policy> { return std::make_unique<one_at_a_time>(); },
};

} // namespace weft::policies
