#pragma once

#include "policy/parts/sharing_order.hpp"

#include <cstddef>
#include <vector>

/// The division of a graph into groups of equal weight with little between them. metis_partitioner.cpp has it where the
/// library is built with METIS, no_partitioner.cpp says elsewhere what is missing: the option WEFT_METIS.
namespace weft {

/// Throws weft::error if the library was built without METIS.
void require_partitioner();

/// The group of each vertex, from 0 to `groups` - 1. `edges` has each edge at both of its ends, `work` the weight of
/// each vertex. There are more vertices than groups. The same graph is always divided in the same way.
std::vector<std::size_t> partition(const std::vector<std::vector<sharing_graph::edge>>& edges,
                                   const std::vector<double>& work, std::size_t groups);

} // namespace weft
