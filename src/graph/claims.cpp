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

void graph::state::settle_claim(std::uint32_t t, engine::engine& e, claim* above) {
    graph_extras& x = extras[nodes[t].extras];
    claim& c = *x.at_gate;
    c.above = above;
    for (std::size_t i = 0; i < x.needs.size(); ++i) {
        c.parts[i].of = e.door.find(x.needs[i]);
        if (!c.parts[i].of)
            throw error("a task needs a resource that nobody knows",
                        fmt::format("{}: '{}'", named(t), x.needs[i]), e.door.names());
    }
    e.door.check(c, named(t));
}

} // namespace weft
