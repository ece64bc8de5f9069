#include "graph/graph_state.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

/// Checks that tasks touch only what they declare. Every task of such a graph has a claim. All tasks that it
/// spawns inherit the claim, and a touch finds the graph's task by it.
namespace weft {

namespace {

struct watched final : claim {
    graph::state* of;
    std::uint32_t number;
    watched(graph::state* s, std::uint32_t t) noexcept : of(s), number(t) {}
};

bool may_write(impl::data_mode m) noexcept { return m != impl::data_mode::read; }

bool only_reads(access how) noexcept { return how == access::read || how == access::chase; }

} // namespace

void graph::state::watch_touches(impl::graph_node& n, std::uint32_t t) {
    auto c = std::make_shared<watched>(this, t);
    graph_extras& x = extras_of(n);
    if (x.at_gate) {
        c->parts = x.at_gate->parts;
        c->cores = x.at_gate->cores;
    }
    c->touched = [](claim& own, const void* what, std::size_t bytes, int how) {
        auto& w = static_cast<watched&>(own);
        w.of->check_touch(w.number, what, bytes, static_cast<access>(how));
    };
    x.at_gate = std::move(c);
}

void graph::state::check_touch(std::uint32_t t, const void* what, std::size_t bytes, access how) {
    const auto first = reinterpret_cast<std::uintptr_t>(what), last = first + bytes;
    bool is_read = false;
    {
        const std::lock_guard guard(adding); // an adder may make data known at the same time
        for (std::uint32_t e = nodes[t].accesses; e; e = edges[e].next) {
            const auto& d = data[data_register::datum_of(edges[e].to)];
            if (!d.address) return;
            const auto begin = reinterpret_cast<std::uintptr_t>(d.address);
            if (begin >= last || begin + std::max<std::size_t>(d.bytes, 1) <= first) continue;
            if (only_reads(how) || may_write(data_register::mode_of(edges[e].to))) return;
            is_read = true;
        }
    }
    std::string text = fmt::format("{} {} {} bytes at {}{}", named(t), only_reads(how) ? "reads" : "writes",
                                   bytes, what, is_read ? ", which it declares to read" : "");
    const std::lock_guard guard(reporting);
    ++undeclared[std::move(text)];
}

void graph::state::report_touches() {
    if (undeclared.empty()) return;
    constexpr std::size_t most_lines = 20;
    std::string given;
    std::size_t lines = 0;
    for (const auto& [text, times] : undeclared) {
        if (lines++ == most_lines) {
            given += fmt::format("; and {} more", undeclared.size() - most_lines);
            break;
        }
        given += (lines > 1 ? "; " : "") + text + (times > 1 ? fmt::format(" ({} times)", times) : "");
    }
    undeclared.clear();
    throw error("tasks of a graph touch what they did not declare", given,
                "what add() was told: read, write, readwrite, concurrent or commutative");
}

} // namespace weft
