#include <weft/graph.hpp>

#include "graph/graph_state.hpp"

#include <fmt/format.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weft {

using impl::graph_node;

namespace {

std::string named(const graph::state& s, std::uint32_t t) {
    const graph_node& n = s.nodes[t];
    return n.extras && !n.extras->name.empty() ? fmt::format("task {} '{}'", t, n.extras->name)
                                               : fmt::format("task {}", t);
}

impl::graph_extras& extras_of(graph_node& n) {
    if (!n.extras) n.extras = new impl::graph_extras;
    return *n.extras;
}

} // namespace

graph::graph(const graph_options& o) : state_(std::make_unique<state>(o)) {}

graph::~graph() {
    try {
        wait();
    } catch (...) { impl::count_suppressed(); }
    for (std::uint32_t t = 0; t < state_->nodes.size(); ++t) {
        graph_node& n = state_->nodes[t];
        n.act(n.room, false);
        delete n.extras;
    }
}

std::size_t graph::size() const noexcept {
    const std::lock_guard guard(state_->adding);
    return state_->nodes.size();
}

// ---- adding

graph::addition::addition(graph& g) : to(g) {
    state& s = *g.state_;
    s.adding.lock();
    try {
        if (s.nodes.size() == s.most_tasks)
            throw error("a graph has too many tasks", fmt::format("{}", s.nodes.size() + 1),
                        fmt::format("at most {}", s.most_tasks));
        node = &s.nodes.grow();
    } catch (...) {
        s.adding.unlock();
        throw;
    }
    node->missing.store(1, std::memory_order_relaxed); // until the commit
    s.committed = false;
}

graph::addition::~addition() {
    state& s = *to.state_;
    if (s.committed) return; // which has left the lock
    s.give_up(*node);
    s.adding.unlock();
}

void graph::apply(graph_node& n, const impl::data_clause& c) {
    state& s = *state_;
    const std::uint32_t t = s.nodes.size() - 1;
    s.versions.access(s.versions.find(c.address, c.index), c.mode, t, [&](std::uint32_t u) { s.link(u, t); });
    if (s.options.record_accesses) extras_of(n).accesses.push_back(c);
}

void graph::wait_for(const graph_task& t) {
    if (!t) return;
    if (t.of_ != this)
        throw error("a task is to wait for one of another graph", fmt::format("its task {}", t.number()),
                    "tasks that add() of the same graph has returned");
    state_->link(t.number_, state_->nodes.size() - 1);
}

void graph::apply(graph_node& n, impl::priority_clause c) { extras_of(n).priority = c.value; }
void graph::apply(graph_node& n, impl::name_clause c) { extras_of(n).name = c.text; }
void graph::apply(graph_node& n, const hints& h) {
    extras_of(n).name = h.name;
    extras_of(n).priority = h.priority;
}

graph_task graph::commit(const addition& a) {
    state& s = *state_;
    graph_node& n = *a.node;
    const std::uint32_t t = s.nodes.size() - 1;
    if (n.waits_for == 0) s.sources.grow() = t;
    s.committed = true;
    if (!s.running) {
        n.missing.store(n.waits_for, std::memory_order_relaxed);
        s.adding.unlock();
        return {this, t};
    }
    ++s.adders; // the run is not over before it has got this one
    s.adding.unlock();
    // acq_rel: as in count_down(), which this is for the adder's own 1
    if (n.missing.fetch_sub(1, std::memory_order_acq_rel) == 1) s.live->run([&s, t] { s.run_from(t); });
    s.adders.fetch_sub(1, std::memory_order_release); // pairs with the load in wait()
    return {this, t};
}

void graph::order(graph_task earlier, graph_task later) {
    state& s = *state_;
    if (earlier.of_ != this || later.of_ != this)
        throw error("tasks are to be ordered that are not of this graph",
                    fmt::format("tasks {} and {}", earlier.number(), later.number()),
                    "tasks that add() of the same graph has returned");
    const std::lock_guard guard(s.adding);
    s.refuse_while_running("order()");
    if (const auto path = s.path(later.number_, earlier.number_); !path.empty()) {
        std::string cycle;
        for (const std::uint32_t t : path) cycle += named(s, t) + " before ";
        throw error("tasks would wait for each other", cycle + named(s, later.number_),
                    "an order without a cycle");
    }
    graph_node& n = s.nodes[later.number_];
    const bool was_source = n.waits_for == 0;
    s.link(earlier.number_, later.number_);
    n.missing.store(n.waits_for, std::memory_order_relaxed);
    if (was_source) s.forget_source(later.number_);
    s.has_backward_edges = s.has_backward_edges || earlier.number_ > later.number_;
}

// ---- runs

void graph::run() {
    start();
    wait();
}

void graph::start() {
    state& s = *state_;
    {
        const std::lock_guard guard(s.adding);
        s.refuse_while_running("start()");
        s.live.emplace(impl::apart);
        ++s.run;
        s.running = true;
        s.first_sources = s.sources.size();
    }
    s.live->run([&s] { s.run_sources(0, s.first_sources); });
}

void graph::wait() {
    state& s = *state_;
    if (!s.live) return;
    for (;;) {
        s.live->wait();
        const std::lock_guard guard(s.adding);
        // acquire: pairs with the end of commit(), after which nothing of the run is touched
        if (s.adders.load(std::memory_order_acquire) == 0) {
            s.running = false;
            break;
        }
    }
    s.live.reset();
    if (s.failed.exchange(false, std::memory_order_relaxed))
        std::rethrow_exception(std::exchange(s.first_error, nullptr));
}

// ---- what people read

std::string graph::dot() const {
    const state& s = *state_;
    const std::lock_guard guard(state_->adding);
    s.refuse_while_running("dot()");
    std::string text = "digraph weft {\n";
    for (std::uint32_t t = 0; t < s.nodes.size(); ++t) {
        const graph_node& n = s.nodes[t];
        std::string label;
        for (const char c : n.extras ? std::string(n.extras->name) : std::string()) {
            if (c == '"' || c == '\\') label += '\\';
            label += c;
        }
        text += fmt::format("  {} [label=\"{}{}{}\"];\n", t, label, label.empty() ? "" : " ", t);
        for (const std::uint32_t u : s.successors(t)) text += fmt::format("  {} -> {};\n", t, u);
    }
    return text + "}\n";
}

std::string graph::dump() const {
    const state& s = *state_;
    const std::lock_guard guard(state_->adding);
    s.refuse_while_running("dump()");
    if (!s.options.record_accesses)
        throw error("a graph has not kept what its tasks declared", "dump()",
                    "graph_options::record_accesses = true");
    constexpr const char* modes[] = {"read", "write", "concurrent", "commutative"};
    std::vector<std::vector<std::uint32_t>> waits_for(s.nodes.size());
    for (std::uint32_t t = 0; t < s.nodes.size(); ++t)
        for (const std::uint32_t u : s.successors(t)) waits_for[u].push_back(t);
    std::string text;
    for (std::uint32_t t = 0; t < s.nodes.size(); ++t) {
        text += named(s, t) + ":";
        if (const auto* x = s.nodes[t].extras)
            for (const auto& c : x->accesses)
                text += fmt::format(" {} {} ({} bytes)", modes[static_cast<std::size_t>(c.mode)], c.address,
                                    c.bytes);
        for (std::size_t i = 0; i < waits_for[t].size(); ++i)
            text += fmt::format("{}{}", i == 0 ? " after " : ", ", waits_for[t][i]);
        text += '\n';
    }
    return text;
}

} // namespace weft
