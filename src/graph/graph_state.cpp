#include "graph/graph_state.hpp"

#include <algorithm>

namespace weft {

using impl::graph_node;

void graph::state::link(std::uint32_t u, std::uint32_t t) {
    constexpr std::uint64_t low = 0xffff'ffff;
    graph_node& before = nodes[u];
    graph_node& n = nodes[t];
    std::uint64_t head = before.after.load(std::memory_order_relaxed); // the edges are of this lock
    if (const auto newest = static_cast<std::uint32_t>(head & low); newest && edges[newest].to == t) return;
    if (edges.size() == 0) edges.grow();
    const std::uint32_t e = edges.size();
    edge& mine = edges.grow();
    mine.to = t;
    ++n.waits_for;
    if (!running) {
        mine.next = static_cast<std::uint32_t>(head & low);
        before.after.store((head & ~low) | e,
                           std::memory_order_relaxed); // seen by the workers that start() asks for
        return;
    }
    n.missing.fetch_add(
        1, std::memory_order_relaxed); // before it can be counted down; the adder's own 1 is there
    do {
        mine.next = static_cast<std::uint32_t>(head & low);
        // release: the edge; acquire: what a finisher has written. Pairs with finish().
    } while (!before.after.compare_exchange_weak(head, (head & ~low) | e, std::memory_order_acq_rel,
                                                 std::memory_order_acquire));
    if (head >> 32 != run) return;
    n.missing.fetch_sub(1, std::memory_order_relaxed); // it has ended, and has not seen the edge
    if (before.failed_in.load(std::memory_order_relaxed) == run)
        n.failed_in.store(run, std::memory_order_relaxed);
}

void graph::state::give_up(graph_node& n) noexcept {
    // It may be in lists already, so it stays, as a task that does nothing; nobody can wait for it.
    if (n.act) n.act(n.room, false);
    delete n.extras;
    n.extras = nullptr;
    n.act = [](void*, bool) {};
    committed = true;
    if (!running)
        n.missing.store(n.waits_for, std::memory_order_relaxed);
    else if (n.missing.fetch_sub(1, std::memory_order_acq_rel) == 1) // as in commit()
        finish(n);
}

void graph::state::forget_source(std::uint32_t t) noexcept {
    std::uint32_t i = 0;
    while (sources[i] != t) ++i;
    sources[i] = sources[sources.size() - 1];
    sources.pop();
}

void graph::state::refuse_while_running(const char* what) const {
    if (running) throw error("a graph is running", what, "wait() first");
}

std::vector<std::uint32_t> graph::state::successors(std::uint32_t t) const {
    std::vector<std::uint32_t> all;
    auto e = static_cast<std::uint32_t>(nodes[t].after.load(std::memory_order_relaxed));
    for (; e; e = edges[e].next) all.push_back(edges[e].to);
    std::reverse(all.begin(), all.end());
    return all;
}

std::vector<std::uint32_t> graph::state::path(std::uint32_t from, std::uint32_t to) const {
    if (from == to) return {from};
    if (from > to && !has_backward_edges) return {};
    std::vector<std::uint32_t> came_from(nodes.size(), none), open{from};
    came_from[from] = from;
    while (!open.empty()) {
        const std::uint32_t t = open.back();
        open.pop_back();
        for (const std::uint32_t u : successors(t)) {
            if (came_from[u] != none) continue;
            came_from[u] = t;
            if (u != to) {
                open.push_back(u);
                continue;
            }
            std::vector<std::uint32_t> way;
            for (std::uint32_t x = to; x != from; x = came_from[x]) way.push_back(x);
            way.push_back(from);
            std::reverse(way.begin(), way.end());
            return way;
        }
    }
    return {};
}

} // namespace weft
