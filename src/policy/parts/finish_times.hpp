#pragma once

#include "policy/seam/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

/// A static schedule of a graph by earliest finish times: HEFT.
///
///   H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-effective and low-complexity task scheduling for heterogeneous computing.
///   IEEE TPDS 13(3), 2002, section 4.1.
///
/// The upward rank of a task is its mean cost over all workers, and the largest rank of its successors. In decreasing order of
/// ranks each task gets the worker on which it ends first, also in a gap between tasks that have their times already
/// (insertion). Communication costs nothing, since all workers share their memory. Allocates: for policy::graph_grew.
namespace weft {

class finish_times {
public:
    struct slot {
        worker_id worker = -1;
        double start = 0, finish = 0;
    };

    explicit finish_times(int workers) : busy_(static_cast<std::size_t>(workers)) {}

    /// Schedules the tasks of the graph that have no slot yet. `cost(t, w)`: of a task on a worker, in any unit.
    template <class Cost>
    void extend(const graph_view& g, Cost&& cost) {
        const auto first = static_cast<std::uint32_t>(slots_.size());
        if (first == g.size()) return;
        slots_.resize(g.size());
        std::vector<std::uint32_t> order(g.size() - first);
        std::iota(order.begin(), order.end(), first);
        const std::vector<double> ranks = upward_ranks(g, first, order, cost);
        std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { // equal ranks: the one before
            const double x = ranks[a - first], y = ranks[b - first];
            return x != y ? x > y : g.bottom_level(a) > g.bottom_level(b);
        });
        for (const std::uint32_t t : order) slots_[t] = earliest(g, t, cost);
    }

    std::size_t size() const noexcept { return slots_.size(); }
    const slot& of(std::uint32_t t) const noexcept { return slots_[t]; }

private:
    struct interval {
        double start, finish;
    };

    template <class F>
    static void each_of(void (graph_view::*visit)(std::uint32_t, void (*)(void*, std::uint32_t), void*) const,
                        const graph_view& g, std::uint32_t t, F&& f) {
        (g.*visit)(
            t,
            [](void* with, std::uint32_t other) { (*static_cast<std::remove_reference_t<F>*>(with))(other); },
            &f);
    }

    /// Of the tasks from `first` on; sorts `order` by decreasing level on the way, so that successors come last.
    template <class Cost>
    std::vector<double> upward_ranks(const graph_view& g, std::uint32_t first,
                                     std::vector<std::uint32_t>& order, Cost& cost) const {
        std::ranges::stable_sort(
            order, [&](std::uint32_t a, std::uint32_t b) { return g.bottom_level(a) > g.bottom_level(b); });
        std::vector<double> ranks(order.size());
        for (auto t = order.rbegin(); t != order.rend(); ++t) {
            double behind = 0, sum = 0;
            auto successor = [&](std::uint32_t s) {
                if (s >= first) behind = std::max(behind, ranks[s - first]);
            };
            each_of(&graph_view::successors, g, *t, successor);
            for (std::size_t w = 0; w < busy_.size(); ++w) sum += cost(*t, static_cast<worker_id>(w));
            ranks[*t - first] = behind + sum / static_cast<double>(busy_.size());
        }
        return ranks;
    }

    template <class Cost>
    slot earliest(const graph_view& g, std::uint32_t t, Cost& cost) {
        double ready = 0;
        auto predecessor = [&](std::uint32_t p) { ready = std::max(ready, slots_[p].finish); };
        each_of(&graph_view::predecessors, g, t, predecessor);
        slot best;
        for (std::size_t w = 0; w < busy_.size(); ++w) {
            const double takes = cost(t, static_cast<worker_id>(w)), start = gap(busy_[w], ready, takes);
            if (best.worker < 0 || start + takes < best.finish)
                best = {static_cast<worker_id>(w), start, start + takes};
        }
        auto& list = busy_[static_cast<std::size_t>(best.worker)];
        const auto at = std::ranges::upper_bound(list, best.start, {}, &interval::start);
        list.insert(at, {best.start, best.finish});
        return best;
    }

    /// The first moment from `ready` on at which a worker is free for so long.
    static double gap(const std::vector<interval>& list, double ready, double takes) {
        double start = ready;
        for (auto i = std::ranges::upper_bound(list, ready, {}, &interval::finish); i != list.end(); ++i) {
            if (start + takes <= i->start) return start;
            start = std::max(start, i->finish);
        }
        return start;
    }

    std::vector<slot> slots_;                 ///< by number of the task
    std::vector<std::vector<interval>> busy_; ///< of each worker, by time
};

} // namespace weft
