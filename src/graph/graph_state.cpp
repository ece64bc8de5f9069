#include "graph/graph_state.hpp"

#include "engine/worker/engine.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft {

using impl::graph_node;

void graph::state::own(impl::datum_place& p) const {
    // relaxed: the graph that wins also writes the index, under its own lock. Another one reads no index.
    std::uint64_t first = 0;
    if (p.graph.compare_exchange_strong(first, serial, std::memory_order_relaxed) || first == serial) return;
    throw error("a weft::datum is used in a second graph",
                fmt::format("a datum of graph {} of this process, in graph {}", first, serial),
                "a datum for each graph, or the address of an object, which all graphs may use");
}

void graph::state::link(std::uint32_t u, std::uint32_t t) {
    constexpr std::uint64_t low = 0xffff'ffff;
    graph_node* const found = options.once ? nodes.find(u) : &nodes[u];
    if (!found) { // the task has ended and is forgotten (E5)
        sanitizer::happens_after(&live);
        return sanitizer::happens_before(&nodes[t].missing);
    }
    graph_node& before = *found;
    graph_node& n = nodes[t];
    std::uint64_t head =
        before.after.load(std::memory_order_relaxed);        // relaxed: edges change under this lock
    if (options.once && !running && head >> 32 != 0) return; // the task has ended in an earlier run
    if (const auto newest = static_cast<std::uint32_t>(head & low); newest && edges[newest].to == t) return;
    if (levels) {
        while (levels->size() <= t) levels->add_task();
        levels->add_edge(u, t);
    }
    if (running && traced) [[unlikely]]
        trace_edge(u, t);
    const std::uint32_t e = new_edge(t, 0);
    edge& mine = edges[e];
    ++n.waits_for;
    if (!running) {
        mine.next = static_cast<std::uint32_t>(head & low);
        before.after.store((head & ~low) | e,
                           std::memory_order_relaxed); // relaxed: start() publishes it to the workers
        return;
    }
    n.missing.fetch_add(1, std::memory_order_relaxed); // relaxed: the adder's own 1 keeps it above 0 (E2)
    do {
        mine.next = static_cast<std::uint32_t>(head & low);
        // release: the edge; acquire: what a finisher has written. Pairs with the CAS in finish() (E1)
    } while (!before.after.compare_exchange_weak(head, (head & ~low) | e, std::memory_order_acq_rel,
                                                 std::memory_order_acquire));
    if (options.once ? head >> 32 == 0 : head >> 32 != run) return;
    n.missing.fetch_sub(
        1, std::memory_order_relaxed); // the task has ended, and its finisher has not seen the edge (E1)
    sanitizer::happens_after(&before.room[1]);
    sanitizer::happens_before(&n.missing);
    if (before.failed_in.load(std::memory_order_relaxed) == run)
        n.failed_in.store(run, std::memory_order_relaxed);
}

void graph::state::give_up(graph_node& n) noexcept {
    // The node may be in lists already, so it stays, as a task that does nothing; no task can wait for it.
    if (n.act) n.act(n.room, false);
    n.extras = 0;
    n.act = [](void*, bool) {};
    if (!running)
        n.missing.store(n.waits_for, std::memory_order_relaxed);
    else if (n.missing.fetch_sub(1, std::memory_order_acq_rel) == 1) // acq_rel: as in commit() (E2)
        finish(n);
}

void graph::state::forget_source(std::uint32_t t) noexcept {
    std::uint32_t i = 0;
    while (sources[i] != t) ++i;
    sources[i] = sources[sources.size() - 1];
    sources.pop();
}

std::string graph::state::named(std::uint32_t t) const {
    const std::string_view name = hint_of(nodes[t]).name;
    return name.empty() ? fmt::format("task {}", t) : fmt::format("task {} '{}'", t, name);
}

void graph::state::survey() {
    levels.reset();
    if (!home->need.levels) return;
    levels.emplace(
        home->graphs.fetch_add(1, std::memory_order_relaxed) + 1, // relaxed: a number that guards nothing
        [](const void* of, std::uint32_t t) -> const hints& {
            const auto& s = *static_cast<const state*>(of);
            return s.hint_of(s.nodes[t]);
        },
        this);
    for (std::uint32_t t = 0; t < nodes.size(); ++t) levels->add_task();
    // From the end: the successors of a task have their levels already, unless the order of adding is not
    // topological.
    for (std::uint32_t t = nodes.size(); t-- > 0;)
        for (const std::uint32_t u : successors(t)) levels->add_edge(t, u);
}

void graph::state::refuse_while_running(const char* what) const {
    if (running) throw error("a graph is running", what, "wait() first");
}

void graph::state::refuse_once(const char* what) const {
    if (options.once)
        throw error("a graph that runs once forgets its tasks", what, "graph_options::once = false");
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
