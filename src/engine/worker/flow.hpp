#pragma once

#include "engine/worker/worker.hpp"
#include "gate/claim.hpp"
#include "task/task.hpp"

#include <cstddef>
#include <cstdint>

namespace weft::engine {

/// A task of a data-flow graph: how it is run, and what the policy is told of it.
struct flow_task {
    void (*run)(void* graph, std::uint32_t number) = nullptr;
    void* graph = nullptr;
    std::uint32_t number = 0;
    const hints* hint = &no_hints;
    claim* at_gate = nullptr;              ///< the task's own claim, or that of a task around it
    bool claims = false;                   ///< at_gate is the task's own claim
    arena* in = nullptr;                   ///< the run belongs to it; null: the outermost
    std::uint32_t incarnation = 0;         ///< of the team, if `in` is a team's
    std::int32_t root = 0;                 ///< the task descends from this root
    preemption preempts = preemption::off; ///< of the task that has started the run, or of roots
    std::uint64_t graph_id = 0;
    int bottom_level = 0;
    std::size_t uses = 0; ///< number of data that the task declares
};

/// Makes the record of `f`. task::uses_ has room for flow_task::uses entries, which the caller fills in.
task& make_flow_task(worker*, engine& home, group& of, const flow_task&);
/// Makes one more share of the moldable task `of`; `w`: the calling worker, or null.
task& make_flow_share(worker* w, engine& home, const task& of);
/// The policy will mold `t`, which asks for `width` workers, into at most requirements::most_width shares: makes their
/// records, since no hook allocates.
void make_moldable(worker* w, engine& home, task& t, int width);
/// The task is ready: counts it in its group and offers it; from any thread. The group must have open
/// children or a wait still to come.
void submit_flow_task(worker*, engine& home, group& of, task&);
/// Starts the first task of a run, which makes the others. It is a root if the calling thread is no worker of
/// `home`.
void start_flow(engine& home, group& of, const flow_task&);

} // namespace weft::engine
