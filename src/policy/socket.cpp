#include "policy/parts/node_queues.hpp"
#include "policy/seam/registry.hpp"

/// A queue sorted by priority for each memory node; nested tasks stay on the node of their parent.
///
///   The socket-aware policy of OmpSs in M. Tillenius, E. Larsson, R. M. Badia, X. Martorell: Resource-aware
///   task scheduling. ACM TECS 2015.
///
/// In OmpSs the program names the node of an outermost task. Here it is the node of the first datum that the
/// task declares and whose node is known; if there is none, the nodes take turns in the order of adding.
namespace weft::policies {
namespace {

constexpr knob socket_knobs[] = {
    {"steal", "on", "on, off", "a worker whose node has nothing takes from the others, nearest first"},
};

class socket_aware final : public policy {
public:
    explicit socket_aware(bool steals) : steals_(steals) {}

    requirements attach(const machine& m, policy_context& context) override {
        queues_.attach(m, context, steals_);
        return {.task_bytes = sizeof(node_queues::task_part),
                .demotable = true,
                .resizable = steals_,
                .uses = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        const bool in_front = reason != ready_reason::root && reason != ready_reason::released;
        return queues_.put(home_of(w, t, reason), t, reason, t.hint().priority, in_front, w);
    }

    decision next(worker_id w, bool last_look) override { return queues_.next(w, last_look); }

    spawn_order spawn(worker_id, task& parent, task& child) override {
        child.data<node_queues::task_part>().home = parent.data<node_queues::task_part>().home;
        return spawn_order::parent_first;
    }

private:
    int home_of(worker_id w, task& t, ready_reason reason) const noexcept {
        if (const int known = t.data<node_queues::task_part>().home; known > 0) return known - 1;
        if (reason == ready_reason::root) return t.root() % queues_.count();
        if (reason != ready_reason::released) return queues_.of_worker(w);
        for (const data_access& use : t.uses())
            if (const int queue = queues_.of_node(use.home); queue >= 0) return queue;
        return static_cast<int>(t.graph_number() % static_cast<unsigned>(queues_.count()));
    }

    const bool steals_;
    node_queues queues_;
};

} // namespace

extern constinit const policy_entry socket_entry{
    .name = "socket",
    .summary = "a queue by priority for each memory node, children on their parent's",
    .source = "Tillenius et al., ACM TECS 2015: the socket-aware policy of OmpSs",
    .wants = "graphs that declare accesses; priorities",
    .helps = "machines with several memory nodes: tasks stay where their data and their parents are",
    .knobs = socket_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<socket_aware>(values.is("steal", "on"));
    },
};

} // namespace weft::policies
