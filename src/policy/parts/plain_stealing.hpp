#pragma once

#include "policy/parts/places.hpp"
#include "policy/seam/policy.hpp"

/// A policy for the tasks of graphs, below which all other tasks are stolen at random, as `steal` does it: roots are silent,
/// graph tasks are not. The derived class keeps the tasks of graphs where it likes, and this one keeps the rest.
namespace weft {

class plain_stealing : public policy {
public:
    placement ready(worker_id w, task& t, ready_reason reason) override { return places_.put(w, t, reason); }
    workers victims(worker_id) override { return context_->all(); }
    bool queues_child(worker_id w) override { return places_.queues_child(w); }

protected:
    requirements attach_plain(policy_context& context) {
        context_ = &context;
        places_.attach(context);
        return {
            .lazy = true, .wide_groups = true, .offers_ahead = true, .demotable = true, .graph_tasks = true};
    }

    /// What random stealing does when the worker's own places of graph tasks have nothing.
    decision next_plain(worker_id w, bool last_look) {
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        return places_.look_outside(w, last_look, true, places::thief_takes::half);
    }

    /// A task of a graph that has not begun.
    static bool is_node(const task& t, ready_reason reason) noexcept {
        return t.graph() != 0 && t.fresh() &&
               (reason == ready_reason::released || reason == ready_reason::granted);
    }

    policy_context* context_ = nullptr;
    places places_;
};

} // namespace weft
