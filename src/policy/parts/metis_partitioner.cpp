#include "policy/parts/partitioner.hpp"

#include <weft/error.hpp>

#include <metis.h>

#include <algorithm>
#include <string>

namespace weft {
namespace {

/// METIS counts in small integers.
idx_t weight(double value, double largest) {
    constexpr double most = 1 << 20;
    return largest > 0 ? std::max(idx_t{1}, static_cast<idx_t>(value / largest * most)) : idx_t{1};
}

} // namespace

void require_partitioner() {}

std::vector<std::size_t> partition(const std::vector<std::vector<sharing_graph::edge>>& edges,
                                   const std::vector<double>& work, std::size_t groups) {
    double most_work = 0, most_lines = 0;
    for (const double w : work) most_work = std::max(most_work, w);
    for (const auto& list : edges)
        for (const auto& e : list) most_lines = std::max(most_lines, static_cast<double>(e.lines));
    std::vector<idx_t> begins{0}, to, lines, works;
    for (std::size_t v = 0; v < edges.size(); ++v) {
        works.push_back(weight(work[v], most_work));
        for (const auto& e : edges[v]) {
            to.push_back(static_cast<idx_t>(e.to));
            lines.push_back(weight(static_cast<double>(e.lines), most_lines));
        }
        begins.push_back(static_cast<idx_t>(to.size()));
    }
    idx_t count = static_cast<idx_t>(edges.size()), constraints = 1, parts = static_cast<idx_t>(groups);
    idx_t cut = 0, options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1; // the same order in every run
    std::vector<idx_t> part(edges.size());
    to.push_back(0), lines.push_back(0); // no null pointers where there are no edges
    const auto divide = parts < 8 ? METIS_PartGraphRecursive : METIS_PartGraphKway;
    if (divide(&count, &constraints, begins.data(), to.data(), works.data(), nullptr, lines.data(), &parts,
               nullptr, nullptr, options, &cut, part.data()) != METIS_OK)
        throw error("METIS could not divide the tasks of a profile", std::to_string(edges.size()) + " tasks",
                    "another profile");
    std::vector<std::size_t> of(part.size());
    std::transform(part.begin(), part.end(), of.begin(), [](idx_t p) { return static_cast<std::size_t>(p); });
    return of;
}

} // namespace weft
