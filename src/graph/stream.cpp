#include "graph/graph_state.hpp"

#include <weft/impl/entry.hpp>

#include <chrono>
#include <mutex>
#include <utility>

/// Graphs whose tasks run once: ended tasks are forgotten, and an adder that is faster than the workers
/// waits.
namespace weft {

using impl::graph_node;

std::uint32_t graph::state::new_edge(std::uint32_t to, std::uint32_t next) {
    if (free_edges) {
        const std::uint32_t e = free_edges;
        free_edges = edges[e].next;
        edges[e] = {to, next};
        return e;
    }
    edges.grow() = {to, next};
    return edges.size() - 1;
}

void graph::state::forget(std::uint32_t t) noexcept {
    graph_node& n = nodes[t];
    n.act(n.room, false);
    n.act = [](void*, bool) {};
    const bool is_needed =
        n.failed_in.load(std::memory_order_relaxed) == run; // by tasks that are added to depend on it
    if (!is_needed && nodes.finished(t)) {
        const std::lock_guard guard(adding);
        nodes.release(t, [&](graph_node& gone) {
            for (const std::uint32_t list :
                 {static_cast<std::uint32_t>(gone.after.load(std::memory_order_relaxed)), gone.accesses}) {
                if (!list) continue;
                std::uint32_t last = list;
                while (edges[last].next) last = edges[last].next;
                edges[last].next = std::exchange(free_edges, list);
            }
            if (!gone.extras) return;
            extras[gone.extras] = {};
            free_extras.push_back(gone.extras);
        });
    }
    ended.fetch_add(1, std::memory_order_relaxed); // relaxed: a count that only shows progress
    const auto half = static_cast<std::int64_t>(options.throttle / 2);
    // seq_cst, both: pairs with the store of throttled and the load of unfinished in throttle() (E6)
    if (unfinished.fetch_sub(1, std::memory_order_seq_cst) != half + 1 ||
        !throttled.load(std::memory_order_seq_cst))
        return;
    const std::lock_guard guard(throttling);
    fewer.notify_all();
}

void graph::state::throttle() {
    if (!options.once || options.throttle == 0 ||
        unfinished.load(std::memory_order_relaxed) <= static_cast<std::int64_t>(options.throttle) ||
        ended.load(std::memory_order_relaxed) == stuck_at.load(std::memory_order_relaxed))
        return;
    for (const group* g = impl::group_of_task(); g; g = g->around_)
        if (g == &*live) return; // its end may be waited for, so a task of the graph never waits here
    constexpr std::chrono::milliseconds without_progress{10};
    std::unique_lock lock(throttling);
    // seq_cst, with the load of unfinished in few(): pairs with the decrement and the load in forget() (E6)
    throttled.store(true, std::memory_order_seq_cst);
    const auto few = [&] {
        return unfinished.load(std::memory_order_seq_cst) <= static_cast<std::int64_t>(options.throttle / 2);
    };
    for (auto before = ended.load(std::memory_order_relaxed);;
         before = ended.load(std::memory_order_relaxed)) {
        if (fewer.wait_for(lock, without_progress, few)) break;
        if (ended.load(std::memory_order_relaxed) != before) continue;
        // The running tasks may wait for what the caller does next: no adder waits until a task has ended.
        stuck_at.store(before, std::memory_order_relaxed);
        break;
    }
    throttled.store(false, std::memory_order_relaxed); // others that wait look after without_progress
}

} // namespace weft
