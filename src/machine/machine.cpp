#include "machine/machine.hpp"

#include <utility>

namespace weft {

namespace {

machine_parts smallest_parts() {
    machine_parts parts;
    parts.name = "one-core";
    parts.cores.emplace_back();
    parts.core_classes.emplace_back();
    parts.memory_nodes.emplace_back().ranks = {0, 1};
    return parts;
}

} // namespace

machine::machine() : machine(smallest_parts()) {}

machine::machine(machine_parts parts) : parts_(std::move(parts)) {
    validate(parts_);
    derive();
}

void machine::derive() {
    for (int rank = 0; rank < size(); ++rank) {
        const weft::core& c = core_at(rank);
        if (index(c.domain) == domains_.size()) {
            domains_.push_back({{rank, rank}, c.package, c.memory_node});
        }
        domains_.back().ranks.last = rank + 1;
        if (index(c.package) == packages_.size()) packages_.push_back({{rank, rank}, c.domain, c.domain});
        packages_.back().ranks.last = rank + 1;
        packages_.back().last_domain = c.domain + 1;
    }
    std::vector<std::vector<int>> own(parts_.cores.size());
    for (std::size_t i = 0; i < parts_.caches.size(); ++i) {
        const rank_range ranks = parts_.caches[i].shared_by;
        for (int rank = ranks.first; rank < ranks.last; ++rank)
            own[index(rank)].push_back(static_cast<int>(i));
    }
    for (const std::vector<int>& indices : own) {
        cache_starts_.push_back(cache_indices_.size());
        cache_indices_.insert(cache_indices_.end(), indices.begin(), indices.end());
    }
    cache_starts_.push_back(cache_indices_.size());
}

} // namespace weft
