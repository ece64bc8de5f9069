#include "graph/levels.hpp"

#include <vector>

namespace weft {

void graph_levels::push(std::uint32_t& list, std::uint32_t task) {
    links_.push_back({task, list});
    list = static_cast<std::uint32_t>(links_.size() - 1);
}

void graph_levels::add_task() {
    at_.grow();
    grown_.store(true, std::memory_order_relaxed); // relaxed: the reader takes the graph's lock next
}

void graph_levels::add_edge(std::uint32_t from, std::uint32_t to) {
    push(at_[from].behind, to);
    push(at_[to].before, from);
    const auto raise = [&](std::uint32_t t, std::int32_t least) {
        entry& e = at_[t];
        if (e.ended.load(std::memory_order_relaxed) || e.level.load(std::memory_order_relaxed) >= least)
            return;
        e.level.store(least, std::memory_order_relaxed);
        open_.push_back(t);
    };
    raise(from, bottom_level(to) + 1);
    while (!open_.empty()) {
        const std::uint32_t t = open_.back();
        open_.pop_back();
        const std::int32_t least = bottom_level(t) + 1;
        for (std::uint32_t l = at_[t].before; l; l = links_[l].next) raise(links_[l].task, least);
    }
}

} // namespace weft
