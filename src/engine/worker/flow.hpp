#pragma once

#include "engine/worker/worker.hpp"
#include "gate/claim.hpp"
#include "task/task.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::engine {

/// What the policy is told of a task of a data-flow graph, and how it is run.
struct flow_task {
    void (*run)(void* graph, std::uint32_t number) = nullptr;
    void* graph = nullptr;
    std::uint32_t number = 0;
    const hints* hint = &no_hints;
    claim* at_gate = nullptr;      ///< its own, or that of a task around it
    bool claims = false;           ///< it is its own
    arena* in = nullptr;           ///< that the run belongs to; null: the outermost
    std::uint32_t incarnation = 0; ///< of the team, if that is one
    std::int32_t root = 0;         ///< that it descends from
    std::uint64_t graph_id = 0;
    int bottom_level = 0;
    std::size_t uses = 0; ///< how many data it declares
};

/// A record for it; task::uses_ has room for so many data, which the caller fills in.
task& make_flow_task(worker*, engine& home, group& of, const flow_task&);
/// A share of a moldable one, beside itself.
task& make_flow_share(worker&, const task& of);
/// It is ready: from any thread; the group counts it from now on, and must have open children or a wait still
/// to come.
void submit_flow_task(worker*, engine& home, group& of, task&);
/// The first task of a run, which makes the others: a root if the calling thread is no worker of `home`.
void start_flow(engine& home, group& of, const flow_task&);

} // namespace weft::engine
