#pragma once

#include "machine/machine.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What a model charges on a machine, figure by figure, and where each comes from. Figures are named as the keys of
// a machine file: "core_class.frequency_mhz", "memory_node.latency_ns", "charges.fork_ns"; those of caches by level:
// "cache.L2.latency_ns".
namespace weft {

struct figure {
    std::string name;
    std::optional<double> value; // empty: there is none, or it is a matrix
    figure_source source;
};

const char* name_of(figure_source);

// All figures of the machine. Where they differ from core class to core class, node to node or cache to cache, each
// has its own, with an index: "memory_node[1].latency_ns".
std::vector<figure> figures_of(const machine&);

// Several figures in a few words: "core_class.frequency_mhz 3000, charges (13), model (4)".
std::string describe(const std::vector<figure>&, figure_source);

// Values by name, without indices: each is for all classes, nodes and caches of the level.
using figure_values = std::map<std::string, double, std::less<>>;

// What is usual for such a machine, of every figure that a model needs.
figure_values typical_figures(const machine&);

// The machine as a model needs it: each absent figure has its typical value, except in a machine file, where only a
// frequency has.
machine with_typical_figures(const machine&);

// The machine with these figures, instead of those that it has. A name that does not fit the machine is ignored.
machine with_calibrated_figures(const machine&, const figure_values&, const std::string& day);

} // namespace weft
