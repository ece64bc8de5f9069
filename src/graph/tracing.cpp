#include "engine/worker/engine.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "graph/graph_state.hpp"
#include "trace/write/log.hpp"
#include "trace/write/recorder.hpp"

#include <functional>
#include <ranges>
#include <vector>

/// What a run of a graph writes to the trace: its tasks with what they declare, and which waits for which.
namespace weft {

using impl::graph_node;
using trace::kind;

/// Calls use(log) with the log of the calling worker; from another thread, with the log of all other threads.
void graph::state::with_log(const std::function<void(trace::log&)>& use) {
    impl::worker* w = impl::hot_self();
    if (!w || &w->engine != home) return home->tracer->outside(use);
    w = &engine::enter_runtime();
    use(*w->log);
    engine::leave_runtime();
}

void graph::state::trace_run() {
    traced = home->tracer != nullptr;
    if (!traced) return;
    while (numbers.size() < nodes.size()) numbers.grow();
    const std::uint32_t first = home->tracer->new_tasks(nodes.size());
    for (std::uint32_t t = 0; t < nodes.size(); ++t) numbers[t] = first + t;
    traced_as = first;
    with_log([&](trace::log& log) {
        log.make_room(1);
        log.note(kind::graph, first, nodes.size(), run);
        for (std::uint32_t t = 0; t < nodes.size(); ++t)
            if (const graph_node* const n = nodes.find(t)) trace_task(log, *n, t);
        for (std::uint32_t t = 0; t < nodes.size(); ++t) {
            const graph_node* const n = nodes.find(t);
            if (!n) continue;
            auto e = static_cast<std::uint32_t>(n->after.load(std::memory_order_relaxed));
            for (; e; e = edges[e].next) {
                log.make_room(1);
                log.note(kind::edge, numbers[t], numbers[edges[e].to]);
            }
        }
    });
}

void graph::state::trace_task(trace::log& log, const graph_node& n, std::uint32_t t) {
    const hints& h = hint_of(n);
    log.make_room(4);
    log.note(kind::spawn, numbers[t], traced_as, log.name(h.name, trace::address_of(n.act)),
             static_cast<std::uint8_t>(trace::origin::graph));
    engine::note_hints(log, h);
    std::vector<std::uint32_t> accesses; // the list begins with the last access
    for (std::uint32_t e = n.accesses; e; e = edges[e].next) accesses.push_back(edges[e].to);
    for (const std::uint32_t access : std::views::reverse(accesses)) {
        const std::uint32_t datum = data_register::datum_of(access);
        log.make_room(1);
        log.note(kind::data, reinterpret_cast<std::uint64_t>(data[datum].address), data[datum].bytes, datum,
                 static_cast<std::uint8_t>(data_register::mode_of(access)));
    }
    if (!claims(n)) return;
    const claim& c = *extras[n.extras].at_gate;
    for (const auto& [resource, amount] : extras[n.extras].needs) {
        log.make_room(1);
        log.note(kind::need, static_cast<std::uint64_t>(amount), 0, log.of().name(resource));
    }
    if (const core_request& r = c.cores; r.count > 0) {
        const std::uint64_t how = (r.relaxed ? 1 : 0) | (r.is_hint ? 2 : 0) | (r.is_shared ? 4 : 0);
        log.make_room(1);
        log.note(kind::need, static_cast<std::uint64_t>(r.count), how, log.of().name("cores"),
                 static_cast<std::uint8_t>(r.within));
    }
}

void graph::state::trace_edge(std::uint32_t u, std::uint32_t t) {
    with_log([&](trace::log& log) {
        number_up_to(log, t);
        log.note(kind::edge, numbers[u], numbers[t]);
    });
}

void graph::state::trace_added(std::uint32_t t) {
    with_log([&](trace::log& log) {
        number_up_to(log, t);
        trace_task(log, nodes[t], t);
    });
}

void graph::state::number_up_to(trace::log& log, std::uint32_t t) {
    while (numbers.size() <= t) numbers.grow() = log.new_task();
}

} // namespace weft
