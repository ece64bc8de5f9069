#include "graph/graph_state.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <memory>
#include <utility>

/// What tasks need at the gate: data that they change by turns, and resources of the runtime.
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
    claim& c = claim_of(x);
    for (std::size_t i = 0; i < x.needs.size(); ++i)
        if (x.needs[i] == name) {
            c.parts[i].amount += amount;
            return;
        }
    const auto at = static_cast<std::ptrdiff_t>(x.needs.size());
    c.parts.insert(c.parts.begin() + at, {nullptr, amount});
    x.needs.emplace_back(name);
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

void graph::state::settle_cores(std::uint32_t t, engine::arena& at, claim& c) const {
    core_request& r = c.cores;
    const int most = at.most(r.within);
    if (r.width(most) > most) {
        const bool is_team = at.is_team();
        throw error("a task asks for more workers than there are", fmt::format("{}: {}", named(t), r.count),
                    fmt::format("at most {}{}{}", most,
                                r.within == scope::machine ? "" : ", those of the largest place of that kind",
                                is_team ? ", members of the team that its graph runs in" : ""));
    }
    if (!at.of.another_policy)
        throw error("a task asks for workers of an engine that has no further instance of its policy",
                    named(t), "an engine that was given a factory of policies");
    // The last part: names are found for the first ones.
    claim::part& tokens = r.is_part ? c.parts.back() : c.parts.emplace_back();
    r.is_part = true;
    tokens.of = &at.tokens;
    tokens.amount = r.relaxed ? 1 : r.width(most);
    r.got.assign(at.cells.size(), 0);
    r.joined.reserve(static_cast<std::size_t>(r.width(most)));
}

void graph::state::settle_claim(std::uint32_t t, engine::arena& at, claim* above) {
    engine::engine& e = at.of;
    graph_extras& x = extras[nodes[t].extras];
    claim& c = *x.at_gate;
    c.above = above;
    for (std::size_t i = 0; i < x.needs.size(); ++i) {
        c.parts[i].of = e.door.find(x.needs[i]);
        if (!c.parts[i].of)
            throw error("a task needs a resource that nobody knows",
                        fmt::format("{}: '{}'", named(t), x.needs[i]), e.door.names());
    }
    settle_among(t, at);
    e.door.check(c, named(t));
}

void graph::state::settle_among(std::uint32_t t, engine::arena& at) {
    claim& c = *extras[nodes[t].extras].at_gate;
    c.among = &at;
    if (c.cores.count > 0) settle_cores(t, at, c);
}

} // namespace weft
