#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "gate/gate.hpp"
#include "graph/graph_state.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

/// What tasks need at the gate: data that they change in turn, and resources of the runtime.
namespace weft {

using impl::graph_node;

graph_extras& graph::state::extras_of(graph_node& n) {
    if (!n.extras && !free_extras.empty()) {
        n.extras = free_extras.back();
        free_extras.pop_back();
    } else if (!n.extras) {
        extras.grow();
        n.extras = extras.size() - 1;
    }
    return extras[n.extras];
}

claim& graph::state::claim_of(graph_extras& x) const {
    if (!x.at_gate) x.at_gate = std::make_shared<claim>();
    return *x.at_gate;
}

void graph::state::need_datum(graph_node& n, std::uint32_t datum) {
    if (datum >= by_datum.size()) by_datum.resize(datum + std::size_t{1});
    if (!by_datum[datum]) by_datum[datum] = &exclusive_data.emplace_back();
    claim& c = claim_of(extras_of(n));
    if (!c.part_of(*by_datum[datum])) c.parts.push_back({by_datum[datum]});
}

void graph::state::need_resource(graph_node& n, std::string_view name, std::int64_t amount) {
    if (amount < 1)
        throw error("a task needs nothing of a resource", fmt::format("{} of '{}'", amount, name),
                    "1 or more");
    graph_extras& x = extras_of(n);
    claim_of(x);
    const auto said = std::ranges::find(x.needs, name, &graph_extras::need::resource);
    if (said != x.needs.end())
        said->amount += amount;
    else
        x.needs.push_back({std::string(name), amount});
}

void graph::state::claim_by_name(graph_node& n, const gate& from) {
    if (n.extras && !claims(n) && !from.needs_of(hint_of(n).name).empty()) claim_of(extras[n.extras]);
}

void graph::state::claim_by_name(const gate& from) {
    for (std::uint32_t t = 0; t < nodes.size(); ++t) {
        graph_node* const n = nodes.find(t);
        if (!n || claims(*n)) continue;
        claim_by_name(*n, from);
        if (claims(*n)) claiming.push_back(t);
    }
}

void graph::state::need_cores(graph_node& n, const impl::cores_clause& c) {
    if (c.count < 1) throw error("a task asks for no workers", fmt::format("{}", c.count), "1 or more");
    core_request& r = claim_of(extras_of(n)).cores;
    if (r.count > 0)
        throw error("a task asks for workers twice", fmt::format("{} and {}", r.count, c.count),
                    "one of cores, width and fixed_width");
    r.count = c.count;
    r.within = c.where == within::cache         ? scope::cache
               : c.where == within::package     ? scope::package
               : c.where == within::memory_node ? scope::memory_node
                                                : scope::machine;
    r.relaxed = c.is_relaxed;
    r.is_hint = c.is_hint;
}

void graph::state::resolve_cores(std::uint32_t t, engine::arena& at, claim& c) const {
    core_request& r = c.cores;
    const int most = at.most(r.within);
    if (r.width(most) > most) {
        const bool is_team = at.is_team();
        throw error("a task asks for more workers than there are", fmt::format("{}: {}", named(t), r.count),
                    fmt::format("at most {}{}{}", most,
                                r.within == scope::machine ? "" : ", those of the largest place of that kind",
                                is_team ? ", members of the team that its graph runs in" : ""));
    }
    if (!at.engine.make_policy)
        throw error("a task asks for workers of an engine that has no further instance of its policy",
                    named(t), "an engine that was given a factory of policies");
    // The last part: the first parts are those found by name.
    claim::part& tokens = r.is_part ? c.parts.back() : c.parts.emplace_back();
    r.is_part = true;
    tokens.of = &at.tokens;
    tokens.amount = r.relaxed ? 1 : r.width(most);
    r.got.assign(at.cells.size(), 0);
    r.joined.reserve(static_cast<std::size_t>(r.width(most)));
}

void graph::state::resolve_claim(std::uint32_t t, engine::arena& at, claim* above) {
    engine::engine& e = at.engine;
    claim& c = *extras[nodes[t].extras].at_gate;
    c.above = above;
    resolve_needs(t, e.gate);
    c.cores.is_molded = e.molds(at) && is_for_policy(c); // once: another run may have another answer
    resolve_arena(t, at);
    c.check(named(t));
}

/// Called for each run: another runtime may have another resources file.
void graph::state::resolve_needs(std::uint32_t t, const gate& from) {
    graph_extras& x = extras[nodes[t].extras];
    std::vector<claim::part>& parts = x.at_gate->parts;
    parts.erase(parts.begin(), parts.begin() + std::exchange(x.named_parts, 0));
    const auto need = [&](resource* of, std::int64_t amount) {
        parts.insert(parts.begin() + x.named_parts++, {of, amount});
    };
    const auto by_file = from.needs_of(hint_of(nodes[t]).name);
    for (const auto& [name, amount] : x.needs) {
        resource* const r = from.find(name);
        if (!r)
            throw error("a task needs a resource that is not described",
                        fmt::format("{}: '{}'", named(t), name), from.names());
        if (std::ranges::find(by_file, r, &class_need::of) == by_file.end()) need(r, amount);
    }
    for (const class_need& n : by_file) need(n.of, n.amount);
}

/// A policy that molds gets a moldable task that needs nothing else at the gate, and has neither a width nor a place that is fixed.
bool graph::state::is_for_policy(const claim& c) noexcept {
    const core_request& r = c.cores;
    const std::size_t others = c.parts.size() - (r.is_part ? 1 : 0);
    return r.is_shared && r.is_hint && r.within == scope::machine && others == 0;
}

void graph::state::resolve_arena(std::uint32_t t, engine::arena& at) {
    claim& c = *extras[nodes[t].extras].at_gate;
    c.among = &at;
    if (c.cores.count > 0 && !c.cores.is_molded) resolve_cores(t, at, c);
}

} // namespace weft
