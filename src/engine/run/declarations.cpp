#include "engine/ports/meter.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "machine/machine.hpp"
#include "trace/write/recorder.hpp"

#include <weft/declare.hpp>
#include <weft/error.hpp>
#include <weft/impl/entry.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What programs declare of their costs and data: weft/declare.hpp.
namespace weft::impl {

using engine::enter_runtime;
using engine::leave_runtime;

constinit std::atomic<int> listeners{0};
constinit std::atomic<int> modules_with_costs{0};

void declare_cost(std::uint64_t cycles, int kind) noexcept {
    worker* w = hot_self();
    if (!w || !(w->slow || w->counts_declared)) return;
    w = &enter_runtime();
    if (w->slow) engine::note(*w, trace::kind::cost, cycles, 0, 0, static_cast<std::uint8_t>(kind));
    w->meter.declare_cost(*w, cycles, static_cast<work>(kind));
    leave_runtime();
}

namespace {

void check_size(std::size_t bytes) {
    if (bytes > PTRDIFF_MAX)
        throw error("data of a negative size were declared",
                    std::to_string(static_cast<std::ptrdiff_t>(bytes)) + " bytes", "0 or more bytes");
}

/// The number of the disk of this name. Throws weft::error, listing the disks, if the machine has none of
/// this name.
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
    const std::size_t which = w->modelled ? disk_named(w->engine.machine, disk) : 0;
    w = &enter_runtime();
    if (w->log) w->log->note(trace::kind::transfer, bytes, 0, w->log->of().name(disk));
    if (w->modelled) w->meter.declare_transfer(*w, which, bytes);
    leave_runtime();
}

void declare_data(const void* data, std::size_t bytes, int how) {
    worker* w = hot_self();
    if (!w) return;
    check_size(bytes);
    if (claim* const c = engine::running_task().claim_; c && c->touched) c->touched(*c, data, bytes, how);
    if ((w->counts_misses || w->counts_declared) && !w->modelled) {
        const tick_hold here;
        w->meter.declare_data(*hot_self(), data, bytes, static_cast<access>(how));
    }
    if (!w->slow) return;
    engine::note_in_user_code(*w, trace::kind::touch, reinterpret_cast<std::uint64_t>(data), bytes, 0,
                              static_cast<std::uint8_t>(how));
    if (w->modelled) w->meter.declare_data(*w, data, bytes, static_cast<access>(how));
}

void declare_home(const void* data, std::size_t bytes, int node) {
    worker* w = hot_self();
    if (!w || !w->slow) return;
    check_size(bytes);
    engine::note_in_user_code(*w, trace::kind::home, reinterpret_cast<std::uint64_t>(data), bytes,
                              node < 0 ? trace::all_nodes : static_cast<std::uint32_t>(node));
    w->meter.declare_home(data, bytes, node < 0 ? std::nullopt : std::optional(node));
}

} // namespace weft::impl
