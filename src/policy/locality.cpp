#include "policy/parts/node_queues.hpp"
#include "policy/seam/registry.hpp"

#include <algorithm>
#include <array>

/// A task goes to the memory node where most of the data lie that it declares.
///
///   The default of OmpSs in M. Tillenius, E. Larsson, R. M. Badia, X. Martorell: Resource-aware task
///   scheduling. ACM TECS 2015.
///
/// Only tasks of graphs declare data. All other tasks stay on the node of the worker that made them ready; for
/// a child that is its parent's node. A worker whose node has nothing takes from the others, nearest first.
namespace weft::policies {
namespace {

class most_data final : public policy {
public:
    requirements attach(const machine& m, policy_context& context) override {
        queues_.attach(m, context, true);
        return {
            .task_bytes = sizeof(node_queues::task_part), .demotable = true, .resizable = true, .uses = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        const int home = home_of(t);
        const bool in_front = reason != ready_reason::root && reason != ready_reason::released;
        return queues_.put(home < 0 ? queues_.of_worker(w) : home, t, reason, 0, in_front, w);
    }

    decision next(worker_id w, bool last_look) override { return queues_.next(w, last_look); }

    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

private:
    static constexpr std::size_t most_queues = 64; // beyond them, the first 64 are compared

    /// The queue of the node with most of its bytes, of equal ones the first; -1: nothing is known of them.
    int home_of(const task& t) const noexcept {
        std::array<std::uint64_t, most_queues> bytes{};
        for (const data_access& use : t.uses())
            if (const int queue = queues_.of_node(use.home);
                queue >= 0 && queue < static_cast<int>(most_queues))
                bytes[static_cast<std::size_t>(queue)] += use.bytes;
        const auto most = std::ranges::max_element(bytes);
        return *most == 0 ? -1 : static_cast<int>(most - bytes.begin());
    }

    node_queues queues_;
};

} // namespace

extern constinit const policy_entry locality_entry{
    .name = "locality",
    .summary = "graph tasks go to the memory node of most of their data",
    .source = "Tillenius et al., ACM TECS 2015: the default of OmpSs",
    .wants = "graphs that declare what their tasks access",
    .helps = "machines with several memory nodes: tasks run where most of their data lie",
    .knobs = {},
    .make = [](const knob_values&) -> std::unique_ptr<policy> { return std::make_unique<most_data>(); },
};

} // namespace weft::policies
