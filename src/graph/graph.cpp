#include <weft/graph.hpp>

#include "engine/run/default_engine.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/flow.hpp"
#include "graph/graph_state.hpp"
#include "task/sanitizers.hpp"

#include <weft/impl/entry.hpp>

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weft {

using impl::graph_node;

namespace {

std::uint64_t next_serial() noexcept {
    static std::atomic<std::uint64_t> given{0};
    return given.fetch_add(1, std::memory_order_relaxed) + 1; // relaxed: only to be unique
}

bool keeps_accesses(const graph_options& o) noexcept {
    const impl::worker* const w = impl::hot_self();
    return o.check_accesses || o.record_accesses.value_or(!w || w->engine.need.uses || w->engine.tracer);
}

} // namespace

graph::state::state(const graph_options& o)
    : serial(next_serial())
    , options(o)
    , keeps_accesses(weft::keeps_accesses(o)) {
    edges.grow();
    extras.grow();
    if (options.check_accesses) impl::listeners.fetch_add(1, std::memory_order_relaxed);
}

graph::state::~state() {
    if (options.check_accesses) impl::listeners.fetch_sub(1, std::memory_order_relaxed);
}

graph::graph(const graph_options& o) : state_(std::make_unique<state>(o)) {}

graph::~graph() {
    try {
        wait();
    } catch (...) { impl::count_suppressed(); }
    for (std::uint32_t t = 0; t < state_->nodes.size(); ++t) {
        if (graph_node* const n = state_->nodes.find(t)) n->act(n->room, false);
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
    node->missing.store(1, std::memory_order_relaxed); // the adder's own, until the commit (E2)
}

graph::addition::~addition() {
    if (!is_open) return; // commit() has left the lock
    state& s = *to.state_;
    s.give_up(*node);
    s.adding.unlock();
}

void graph::apply(graph_node& n, const impl::data_clause& c) {
    state& s = *state_;
    const std::uint32_t t = s.nodes.size() - 1;
    if (c.place) s.own(*c.place);
    const std::uint32_t datum = s.versions.find(c.address, c.place ? &c.place->index : nullptr);
    if (c.mode == impl::data_mode::commutative) s.need_datum(n, datum);
    s.versions.access(datum, c.mode, t, [&](std::uint32_t u) { s.link(u, t); });
    if (!s.keeps_accesses) return;
    s.data.note(datum, c.place ? nullptr : c.address, c.bytes);
    n.accesses = s.new_edge(data_register::pack(datum, c.mode), n.accesses);
}

void graph::wait_for(const graph_task& t) {
    if (!t) return;
    if (t.of_ != this)
        throw error("a task is to wait for one of another graph", fmt::format("its task {}", t.number()),
                    "tasks that add() of the same graph has returned");
    state_->link(t.number_, state_->nodes.size() - 1);
}

void graph::apply(graph_node& n, const impl::needs_clause& c) {
    state_->need_resource(n, c.resource, c.amount);
}
void graph::apply(graph_node& n, const impl::cores_clause& c) { state_->need_cores(n, c); }
void graph::make_moldable(graph_node& n) {
    core_request& r = state_->claim_of(state_->extras_of(n)).cores;
    r.is_shared = true;
}
void graph::apply(graph_node& n, impl::priority_clause c) { state_->extras_of(n).hint.priority = c.value; }
void graph::apply(graph_node& n, impl::name_clause c) { state_->extras_of(n).hint.name = c.text; }
void graph::apply(graph_node& n, const hints& h) { state_->extras_of(n).hint = h; }

graph_task graph::commit(const addition& a) {
    state& s = *state_;
    graph_node& n = *a.node;
    const std::uint32_t t = s.nodes.size() - 1;
    if (s.options.check_accesses) s.watch_touches(n, t);
    impl::worker* const w =
        n.extras ? impl::hot_self() : nullptr; // without extras it has neither name nor claim
    if (const engine::engine* const e = s.running ? s.home
                                        : w       ? &w->engine
                                                  : nullptr;
        e && e->gate.has_needs())
        s.claim_by_name(n, e->gate);
    if (s.claims(n)) {
        core_request& cores = s.extras[n.extras].at_gate->cores;
        if (cores.is_shared && cores.count == 0) cores.count = 1, cores.is_hint = true;
        if (s.running)
            s.resolve_claim(t, *s.inside, s.around.get());
        else if (w) // otherwise start() does it, when the arena is known
            s.resolve_claim(t, w->arena(), engine::running_task().claim_);
        if (!s.options.once || !s.running) s.claiming.push_back(t);
    }
    const bool is_forgotten = s.options.once && s.running;
    if (n.waits_for == 0 && !is_forgotten) s.sources.grow() = t;
    if (s.options.once) s.unfinished.fetch_add(1, std::memory_order_relaxed);
    a.is_open = false;
    if (s.running && s.traced) [[unlikely]]
        s.trace_added(t);
    while (s.levels && s.levels->size() <= t) s.levels->add_task();
    if (!s.running) {
        n.missing.store(n.waits_for, std::memory_order_relaxed);
        s.adding.unlock();
        return {this, t};
    }
    ++s.adders; // the run does not end before it has this task (E4)
    s.adding.unlock();
    // acq_rel: pairs with the decrements in finish(); this one takes back the adder's own 1 (E2)
    if (n.missing.fetch_sub(1, std::memory_order_acq_rel) == 1) s.submit_ready(t);
    s.throttle();
    s.adders.fetch_sub(1, std::memory_order_release); // pairs with the load in wait() (E4)
    return {this, t};
}

void graph::order(graph_task earlier, graph_task later) {
    state& s = *state_;
    if (earlier.of_ != this || later.of_ != this)
        throw error("tasks are to be ordered that are not of this graph",
                    fmt::format("tasks {} and {}", earlier.number(), later.number()),
                    "tasks that add() of the same graph has returned");
    const std::lock_guard guard(s.adding);
    s.refuse_once("order()");
    s.refuse_while_running("order()");
    if (const auto path = s.path(later.number_, earlier.number_); !path.empty()) {
        std::string cycle;
        for (const std::uint32_t t : path) cycle += s.named(t) + " before ";
        throw error("tasks would wait for each other", cycle + s.named(later.number_),
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
    impl::worker* w = impl::hot_self();
    task* const me = w ? &engine::running_task() : nullptr;
    engine::engine& home = w ? w->engine : engine::default_engine();
    {
        const std::lock_guard guard(s.adding);
        s.refuse_while_running("start()");
        if (w) w = impl::hot_self(); // it stays the caller's as long as the lock keeps the tick away
        claim* const around = me ? me->claim_ : nullptr;
        engine::arena& in = w ? w->arena() : home.outermost;
        if (home.gate.has_needs()) s.claim_by_name(home.gate);
        for (const std::uint32_t t : s.claiming) s.resolve_claim(t, in, around);
        s.live.emplace().apart_ = true;
        s.home = &home;
        s.inside = &in;
        s.incarnation = in.incarnation();
        s.around = around ? around->shared_from_this() : nullptr;
        s.root = me ? me->root_ : 0;
        s.preempts = me ? me->preempt_ : home.preempts;
        s.reported = !home.zone().lazy || home.zone().graph_tasks;
        ++s.run;
        s.running = true;
        s.first_sources = s.sources.size();
        s.survey();
        s.trace_run();
    }
    sanitizer::happens_before(&s);
    engine::start_flow(home, *s.live,
                       {.run =
                            [](void* of, std::uint32_t) {
                                state& own = *static_cast<state*>(of);
                                own.run_sources(0, own.first_sources);
                            },
                        .graph = &s,
                        .at_gate = s.around.get(),
                        .in = s.inside,
                        .incarnation = s.incarnation,
                        .preempts = s.preempts});
}

void graph::wait() {
    state& s = *state_;
    if (!s.live) return;
    for (const group* g = impl::group_of_task(); g; g = g->around_)
        if (g == &*s.live)
            throw error("a graph is waited for by one of its own tasks", "wait()",
                        "a graph of its own inside of the task, or a wait() outside");
    std::exception_ptr unforeseen; // there was no memory for a task, which then has not run
    for (;;) {
        try {
            impl::wait_group(*s.live);
        } catch (...) { unforeseen = std::current_exception(); }
        const std::lock_guard guard(s.adding);
        // acquire: pairs with the decrement in commit(), after which the adder touches nothing of the run
        // (E4)
        if (s.adders.load(std::memory_order_acquire) == 0) {
            s.running = false;
            if (s.options.once) {
                s.claiming.clear();
                while (s.sources.size() > 0) s.sources.pop();
            }
            break;
        }
    }
    sanitizer::happens_after(&s.live);
    s.live.reset();
    s.levels.reset();
    s.around.reset();
    if (s.failed.exchange(false, std::memory_order_relaxed))
        std::rethrow_exception(std::exchange(s.first_error, nullptr));
    if (unforeseen) std::rethrow_exception(unforeseen);
    s.report_touches();
}

// ---- texts for people

std::string graph::dot() const {
    const state& s = *state_;
    const std::lock_guard guard(state_->adding);
    s.refuse_once("dot()");
    s.refuse_while_running("dot()");
    std::string text = "digraph weft {\n";
    for (std::uint32_t t = 0; t < s.nodes.size(); ++t) {
        const graph_node& n = s.nodes[t];
        std::string label;
        for (const char c : s.hint_of(n).name) {
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
    s.refuse_once("dump()");
    s.refuse_while_running("dump()");
    if (!s.keeps_accesses)
        throw error("a graph has not kept what its tasks declared", "dump()",
                    "graph_options::record_accesses = true");
    constexpr const char* modes[] = {"read", "write", "concurrent", "commutative"};
    std::vector<std::vector<std::uint32_t>> waits_for(s.nodes.size());
    for (std::uint32_t t = 0; t < s.nodes.size(); ++t)
        for (const std::uint32_t u : s.successors(t)) waits_for[u].push_back(t);
    std::string text;
    for (std::uint32_t t = 0; t < s.nodes.size(); ++t) {
        text += s.named(t) + ":";
        std::vector<std::uint32_t> accesses;
        for (std::uint32_t e = s.nodes[t].accesses; e; e = s.edges[e].next) accesses.push_back(s.edges[e].to);
        for (auto access = accesses.rbegin(); access != accesses.rend(); ++access) {
            const std::uint32_t datum = data_register::datum_of(*access);
            const auto& d = s.data[datum];
            text += fmt::format(" {} {}", modes[static_cast<std::size_t>(data_register::mode_of(*access))],
                                d.address ? fmt::format("{} ({} bytes)", d.address, d.bytes)
                                          : fmt::format("datum {}", datum));
        }
        for (std::size_t i = 0; i < waits_for[t].size(); ++i)
            text += fmt::format("{}{}", i == 0 ? " after " : ", ", waits_for[t][i]);
        text += '\n';
    }
    return text;
}

} // namespace weft
