// The 0-1 knapsack problem by branch and bound: which of some items, each with a weight and a value, are
// worth most and weigh together no more than a limit? Knapsack of Chen and Guo, as in the MIT Cilk package.
//
// A task decides on one item: one child takes it, the other leaves it. A branch ends when even a part of the
// next item for all the weight that is left could not beat the best found so far, by whomever: so how many
// branches are looked at depends on the order in which they run, and only the value found does not.
#pragma once

#include "../common/cost.hpp"
#include "../common/random.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace examples {

// A branch that is looked at.
inline constexpr double knapsack_cycles_per_branch = 7.6;

struct item {
    std::uint32_t weight, value;
};

// Values close to weights: the harder kind. By falling value for a unit of weight.
inline std::vector<item> make_items(std::size_t n, std::uint64_t seed) {
    std::vector<item> items(n);
    for (std::size_t i = 0; i < n; ++i) {
        const auto weight = static_cast<std::uint32_t>(100 + random_at(seed, 2 * i) % 900);
        items[i] = {weight, static_cast<std::uint32_t>(weight + random_at(seed, 2 * i + 1) % 100)};
    }
    std::stable_sort(items.begin(), items.end(), [](const item& a, const item& b) {
        return std::uint64_t{a.value} * b.weight > std::uint64_t{b.value} * a.weight;
    });
    return items;
}

inline std::uint32_t half_the_weight(const std::vector<item>& items) {
    std::uint32_t sum = 0;
    for (const item& i : items) sum += i.weight;
    return sum / 2;
}

class knapsack {
public:
    // Decisions on the first `task_items` are tasks; below them it goes on serially.
    knapsack(const std::vector<item>& items, std::size_t task_items)
        : items_(items)
        , task_items_(std::min(task_items, items.size())) {}

    std::uint32_t best_value(std::uint32_t limit) {
        decide(0, limit, 0);
        return best_.load(std::memory_order_relaxed);
    }

private:
    // No item from `next` on is worth more for its weight than the next.
    bool may_be_better(std::size_t next, std::uint32_t weight_left, std::uint32_t value) const {
        const std::uint64_t bound =
            value + std::uint64_t{weight_left} * items_[next].value / items_[next].weight;
        // Relaxed: nothing is published with the value, and an old one only costs a branch.
        return bound > best_.load(std::memory_order_relaxed);
    }

    void found(std::uint32_t value) {
        std::uint32_t best = best_.load(std::memory_order_relaxed);
        while (value > best && !best_.compare_exchange_weak(best, value, std::memory_order_relaxed)) {}
    }

    // BEGIN-EXAMPLE knapsack
    void decide(std::size_t next, std::uint32_t weight_left, std::uint32_t value) {
        if (next == task_items_) {
            spend(decide_serially(next, weight_left, value), knapsack_cycles_per_branch); // known only now
            return;
        }
        spend(1, knapsack_cycles_per_branch);
        found(value);
        if (!may_be_better(next, weight_left, value)) return;
        const item i = items_[next];
        if (i.weight > weight_left) return decide(next + 1, weight_left, value);
        const weft::hints half{.work = 1, .children = 2}; // it is not known which is more work
        weft::join([=, this] { decide(next + 1, weight_left - i.weight, value + i.value); },
                   [=, this] { decide(next + 1, weight_left, value); }, {half, half});
    }
    // END-EXAMPLE knapsack

    // Returns how many branches were looked at.
    std::size_t decide_serially(std::size_t next, std::uint32_t weight_left, std::uint32_t value) {
        found(value);
        if (next == items_.size() || !may_be_better(next, weight_left, value)) return 1;
        const item i = items_[next];
        std::size_t branches = 1;
        if (i.weight <= weight_left) {
            branches += decide_serially(next + 1, weight_left - i.weight, value + i.value);
        }
        return branches + decide_serially(next + 1, weight_left, value);
    }

    const std::vector<item>& items_;
    std::size_t task_items_;
    std::atomic<std::uint32_t> best_ = 0;
};

// By dynamic programming over all weights, which has no bounds to be wrong about.
inline std::uint32_t knapsack_by_weights(const std::vector<item>& items, std::uint32_t limit) {
    std::vector<std::uint32_t> best(limit + std::size_t{1});
    for (const item& i : items) {
        for (std::size_t w = limit; w >= i.weight; --w)
            best[w] = std::max(best[w], best[w - i.weight] + i.value);
    }
    return best[limit];
}

} // namespace examples
