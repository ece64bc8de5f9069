#include "policy/parts/sharing_order.hpp"

#include "policy/parts/partitioner.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

namespace weft {
namespace {

using edges_of = std::vector<std::vector<sharing_graph::edge>>;

/// The same lines in ranges that do not touch.
std::vector<line_range> merged(std::vector<line_range> ranges) {
    std::erase_if(ranges, [](const line_range& r) { return r.first >= r.last; });
    std::ranges::sort(ranges, {}, &line_range::first);
    std::vector<line_range> result;
    for (const line_range& r : ranges)
        if (result.empty() || r.first > result.back().last)
            result.push_back(r);
        else
            result.back().last = std::max(result.back().last, r.last);
    return result;
}

/// The group of each vertex. If there are fewer vertices than `groups`, each is a group.
std::vector<std::size_t> divided(const edges_of& edges, const std::vector<double>& work, std::size_t groups) {
    std::vector<std::size_t> of(edges.size());
    if (groups >= edges.size()) {
        std::iota(of.begin(), of.end(), std::size_t{0});
        return of;
    }
    return partition(edges, work, groups);
}

struct ordering {
    std::span<const profiled_task> tasks;
    std::span<const std::uint64_t> caches;
    const sharing_graph graph;
    std::vector<ordered_task> result{};
    int outer = -1, inner = -1;

    /// The graph of some of the tasks.
    edges_of part_of(const std::vector<std::size_t>& which) const {
        std::map<std::size_t, std::size_t> number;
        for (std::size_t i = 0; i < which.size(); ++i) number[which[i]] = i;
        edges_of part(which.size());
        for (std::size_t i = 0; i < which.size(); ++i)
            for (const auto& e : graph.edges[which[i]])
                if (const auto to = number.find(e.to); to != number.end())
                    part[i].push_back({to->second, e.lines});
        return part;
    }

    /// Appends groups of the tasks. Each fits the cache, unless it is a single task that does not.
    void divide(std::vector<std::size_t> which, std::uint64_t cache,
                std::vector<std::vector<std::size_t>>& groups) const {
        const std::uint64_t lines = working_set(tasks, which);
        if (lines <= cache || which.size() < 2) return groups.push_back(std::move(which));
        const auto wanted =
            static_cast<std::size_t>(std::min<std::uint64_t>((lines + cache - 1) / cache, which.size()));
        std::vector<double> work;
        for (const std::size_t t : which) work.push_back(tasks[t].work);
        const auto of = divided(part_of(which), work, wanted);
        std::vector<std::vector<std::size_t>> parts(wanted);
        for (std::size_t i = 0; i < which.size(); ++i) parts[of[i]].push_back(which[i]);
        for (auto& part : parts) {
            if (part.empty()) continue;
            if (part.size() == which.size()) { // the partitioner may leave all in one
                const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
                divide({part.begin(), middle}, cache, groups);
                divide({middle, part.end()}, cache, groups);
            } else {
                divide(std::move(part), cache, groups);
            }
        }
    }

    void order(const std::vector<std::size_t>& which, std::size_t level) {
        if (level == caches.size()) {
            for (const std::size_t i : spanning_tree_order(part_of(which)))
                result.push_back({which[i], outer, inner});
            return;
        }
        std::vector<std::vector<std::size_t>> groups;
        divide(which, std::max<std::uint64_t>(caches[level], 1), groups);
        std::map<std::size_t, std::size_t> group_of;
        for (std::size_t g = 0; g < groups.size(); ++g)
            for (const std::size_t t : groups[g]) group_of[t] = g;
        std::vector<std::map<std::size_t, std::uint64_t>> between(groups.size());
        for (const auto& [t, g] : group_of)
            for (const auto& e : graph.edges[t])
                if (const auto to = group_of.find(e.to); to != group_of.end() && to->second != g)
                    between[g][to->second] += e.lines;
        edges_of contracted(groups.size());
        for (std::size_t g = 0; g < groups.size(); ++g)
            for (const auto& [to, lines] : between[g]) contracted[g].push_back({to, lines});
        for (const std::size_t g : spanning_tree_order(contracted)) {
            if (level == 0) ++outer;
            if (level == 1 || caches.size() == 1) ++inner;
            order(groups[g], level + 1);
        }
    }
};

} // namespace

sharing_graph::sharing_graph(std::span<const profiled_task> tasks) : edges(tasks.size()) {
    struct use {
        line_range lines;
        std::size_t task;
    };
    std::vector<use> uses;
    for (std::size_t t = 0; t < tasks.size(); ++t)
        for (const line_range& r : merged(tasks[t].lines)) uses.push_back({r, t});
    std::ranges::stable_sort(uses, {}, [](const use& u) { return u.lines.first; });
    std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> shared;
    std::vector<use> open; // uses that begin before the current one and reach into it
    for (const use& u : uses) {
        std::erase_if(open, [&](const use& o) { return o.lines.last <= u.lines.first; });
        for (const use& o : open)
            if (o.task != u.task)
                shared[std::minmax(o.task, u.task)] += std::min(o.lines.last, u.lines.last) - u.lines.first;
        open.push_back(u);
    }
    for (const auto& [pair, lines] : shared) {
        edges[pair.first].push_back({pair.second, lines});
        edges[pair.second].push_back({pair.first, lines});
    }
}

std::vector<std::size_t> spanning_tree_order(const edges_of& edges) {
    struct candidate {
        std::uint64_t lines;
        std::size_t vertex;
        bool operator<(const candidate& other) const { // of a queue whose largest comes first
            return lines != other.lines ? lines < other.lines : vertex > other.vertex;
        }
    };
    std::vector<std::size_t> order;
    std::vector<bool> is_in(edges.size());
    for (std::size_t first = 0; first < edges.size(); ++first) {
        std::priority_queue<candidate> next;
        next.push({0, first});
        while (!next.empty()) {
            const std::size_t v = next.top().vertex;
            next.pop();
            if (is_in[v]) continue;
            is_in[v] = true;
            order.push_back(v);
            for (const auto& e : edges[v])
                if (!is_in[e.to]) next.push({e.lines, e.to});
        }
    }
    return order;
}

std::uint64_t working_set(std::span<const profiled_task> tasks, std::span<const std::size_t> which) {
    std::vector<line_range> all;
    for (const std::size_t t : which) all.insert(all.end(), tasks[t].lines.begin(), tasks[t].lines.end());
    std::uint64_t lines = 0;
    for (const line_range& r : merged(std::move(all))) lines += r.last - r.first;
    return lines;
}

std::vector<ordered_task> order_by_sharing(std::span<const profiled_task> tasks,
                                           std::span<const std::uint64_t> cache_lines) {
    require_partitioner();
    ordering o{tasks, cache_lines, sharing_graph(tasks)};
    std::vector<std::size_t> all(tasks.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (cache_lines.empty()) o.outer = o.inner = 0;
    if (!all.empty()) o.order(all, 0);
    return std::move(o.result);
}

} // namespace weft
