#include "graph/graph_state.hpp"

#include <weft/impl/entry.hpp>

#include <chrono>
#include <mutex>
#include <utility>

/// Graphs whose tasks run once: what has ended is forgotten, and who adds faster than others run waits.
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
        n.failed_in.load(std::memory_order_relaxed) == run; // by those who come to depend on it
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
    ended.fetch_add(1, std::memory_order_relaxed); // a sign of life
    const auto half = static_cast<std::int64_t>(options.throttle / 2);
    // seq_cst, as the store and the look in throttle(): one of the two sees the other
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
        if (g == &*live) return; // others may be waiting for its end
    constexpr std::chrono::milliseconds without_progress{10};
    std::unique_lock lock(throttling);
    throttled.store(true, std::memory_order_seq_cst);
    const auto few = [&] {
        return unfinished.load(std::memory_order_seq_cst) <= static_cast<std::int64_t>(options.throttle / 2);
    };
    for (auto before = ended.load(std::memory_order_relaxed);;
         before = ended.load(std::memory_order_relaxed)) {
        if (fewer.wait_for(lock, without_progress, few)) break;
        if (ended.load(std::memory_order_relaxed) != before) continue;
        // What runs may wait for what the caller does next: nobody waits until something has ended.
        stuck_at.store(before, std::memory_order_relaxed);
        break;
    }
    throttled.store(false, std::memory_order_relaxed); // others who wait come back after without_progress
}

} // namespace weft
