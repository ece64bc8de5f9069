#include "engine/run/default_engine.hpp"
#include "engine/run/switch.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/notes.hpp"
#include "machine/machine.hpp"

#include <weft/error.hpp>
#include <weft/impl/entry.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Roots, and what is asked of the runtime as a whole.
namespace weft::impl {

using engine::enter_runtime;
using engine::leave_runtime;

void count_suppressed() noexcept {
    if (worker* w = hot_self()) w->count.suppressed.add();
}

loop_shape shape_of_loop() noexcept {
    worker& w = *hot_self();
    task& t = *w.current->running;
    // What a loop learns of its times would make every run of a model another one.
    if (t.silent_) return {w.modelled, 0, w.arena().size()};
    enter_runtime();
    const int pieces = w.arena().scheduler->pieces(w.local, t);
    leave_runtime();
    return {true, pieces, w.arena().size()};
}

void mark_iteration(int k) {
    worker* w = hot_self();
    if (!w) return run_in_default({[](void* n) { mark_iteration(*static_cast<int*>(n)); }, &k});
    task& t = *w->current->running;
    if (!engine::is_root(t) || w->current->root.next)
        throw error("an iteration was marked inside a parallel region", std::to_string(k),
                    "a call by the root, outside of its joins and groups");
    enter_runtime();
    t.children_ = 0;
    engine::note(*w, trace::kind::iteration, static_cast<std::uint64_t>(k));
    w->arena().scheduler->iteration(w->local, t, k);
    leave_runtime();
}

constinit std::atomic<int> listeners{0};
constinit std::atomic<int> modules_with_costs{0};

void declare_cost(std::uint64_t cycles, int kind) noexcept {
    worker* w = hot_self();
    if (!w || !w->slow) return;
    enter_runtime();
    engine::note(*w, trace::kind::cost, cycles, 0, 0, static_cast<std::uint8_t>(kind));
    w->eng.declare_cost(*w, cycles, static_cast<work>(kind));
    leave_runtime();
}

namespace {

void check_size(std::size_t bytes) {
    if (bytes > PTRDIFF_MAX)
        throw error("data of a negative size were declared",
                    std::to_string(static_cast<std::ptrdiff_t>(bytes)) + " bytes", "0 or more bytes");
}

/// By its number.
std::size_t disk_named(const machine& m, std::string_view name) {
    const auto disks = m.disks();
    std::string known;
    for (std::size_t d = 0; d < disks.size(); ++d) {
        if (disks[d].name == name) return d;
        known += (d == 0 ? "" : ", ") + disks[d].name;
    }
    throw error("a transfer was declared of a disk that machine '" + m.name() + "' does not have",
                "'" + std::string(name) + "'", known.empty() ? "a machine whose file has a [[disk]]" : known);
}

} // namespace

void declare_transfer(std::string_view disk, std::size_t bytes) {
    worker* w = hot_self();
    if (!w || !w->slow) return;
    check_size(bytes);
    const std::size_t which = w->modelled ? disk_named(w->eng.on, disk) : 0;
    enter_runtime();
    if (w->log) w->log->note(trace::kind::transfer, bytes, 0, w->log->of().name(disk));
    if (w->modelled) w->eng.declare_transfer(*w, which, bytes);
    leave_runtime();
}

void declare_data(const void* data, std::size_t bytes, int how) {
    worker* w = hot_self();
    if (!w) return;
    check_size(bytes);
    if (claim* const c = w->current->running->claim_; c && c->touched) c->touched(*c, data, bytes, how);
    if (w->counts_misses && !w->modelled) w->eng.declare_data(*w, data, bytes, static_cast<access>(how));
    if (!w->slow) return;
    engine::note_in_passing(*w, trace::kind::touch, reinterpret_cast<std::uint64_t>(data), bytes, 0,
                            static_cast<std::uint8_t>(how));
    if (w->modelled) w->eng.declare_data(*w, data, bytes, static_cast<access>(how));
}

void declare_home(const void* data, std::size_t bytes, int node) {
    worker* w = hot_self();
    if (!w || !w->slow) return;
    check_size(bytes);
    engine::note_in_passing(*w, trace::kind::home, reinterpret_cast<std::uint64_t>(data), bytes,
                            node < 0 ? trace::nobody : static_cast<std::uint32_t>(node));
    w->eng.declare_home(data, bytes, node < 0 ? std::nullopt : std::optional(node));
}

void run_in_default(body b) { engine::run_root(engine::default_engine(), b); }

} // namespace weft::impl

namespace weft::engine {

bool is_root(const task& t) noexcept {
    return t.is_root_; // frames and silent children have the level of their task, and so have tasks of graphs
}

void submit_root(engine& e, task& t) {
    e.root_begins();
    t.root_ = e.roots.fetch_add(1, std::memory_order_relaxed); // a number, orders nothing
    t.id_ = static_cast<std::uint64_t>(t.root_) * 2 + 1;
    t.silent_ = e.need.lazy;
    t.is_root_ = true;
    if (e.tracer) [[unlikely]] {
        worker* const w = impl::hot_self();
        if (w && &w->eng == &e)
            note_spawn(*w->log, t, trace::origin::root, 0);
        else
            e.tracer->outside([&](trace::log& log) { note_spawn(log, t, trace::origin::root, 0); });
    }
    e.submit(t, ready_reason::root);
}

void run_root(engine& e, impl::body b) {
    worker* w = impl::hot_self();
    if (w && &w->eng == &e) return b.run(b.closure);
    group g;
    g.apart_ = true;
    task& t = make_task(nullptr, e, 0, 1);
    t.call_ = b.run;
    t.closure_ = b.closure;
    adopt(t, nullptr, &g, {});
    t.scope_ = nullptr;
    g.open_.fetch_add(1, std::memory_order_relaxed); // the spawner's own 1 keeps it above 0 (G1)
    submit_root(e, t);
    impl::wait_group(g);
}

} // namespace weft::engine
