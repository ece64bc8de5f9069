#pragma once

#include "policy/seam/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

/// The workers as the leaves of a tree of memory groups: for policies that keep work under a cache. It is
/// read from the machine once and never changes. It holds no task.
///
///   S. Shiina, master's thesis, University of Tokyo 2021, 5.3.1.
///
/// Level 0 is one group, of all workers, under the main memory, whose capacity is infinite. Then comes a
/// level for each level of caches that workers share, the largest first. The last level is the workers
/// themselves, each with the largest cache that no other worker has. The groups of a level have numbers. The
/// numbers of the children of a group are adjacent, and so are the seats of the workers below it. A seat is
/// the position of a worker in the order of cores. The head of a group is the worker of its first seat.
namespace weft {

class memory_groups {
public:
    static constexpr int most_levels = 8;

    struct group {
        int first_seat = 0, last_seat = 0;                         // half-open
        double capacity = std::numeric_limits<double>::infinity(); // bytes
    };

    /// Allocates: for policy::attach. Without caches there are two levels, all and each.
    void attach(const machine& m, const policy_context& context, bool with_caches) {
        take_seats(context);
        const caches_of_seats caches{m, context, seats_};
        levels_.assign(1, {{0, workers_in_all()}});
        for (int level = largest_cache_level; with_caches && level > 0; --level) {
            if (static_cast<int>(levels_.size()) == most_levels - 1) break;
            const std::vector<group> sharing = groups_under(caches, level);
            if (!sharing.empty() && refines(sharing, levels_.back())) levels_.push_back(sharing);
        }
        levels_.push_back(single_workers(caches));
        number_groups();
    }

    int levels() const noexcept { return static_cast<int>(levels_.size()); }
    int leaf_level() const noexcept { return levels() - 1; }
    int workers_in_all() const noexcept { return static_cast<int>(seats_.size()); }
    int groups(int level) const noexcept { return static_cast<int>(levels_[at(level)].size()); }
    /// The groups of all levels, numbered level by level: for what a policy keeps for each of them.
    int count() const noexcept { return first_number_.back(); }
    int number(int level, int g) const noexcept { return first_number_[at(level)] + g; }
    double capacity(int level, int g) const noexcept { return levels_[at(level)][at(g)].capacity; }
    int of_worker(int level, worker_id w) const noexcept { return group_of_[at(level)][at(seat_of_[at(w)])]; }
    worker_id head(int level, int g) const noexcept {
        return seats_[at(levels_[at(level)][at(g)].first_seat)];
    }

    struct span { ///< of groups of a level, half-open
        int first = 0, last = 0;
    };
    /// The groups of level `below` that lie under [s.first, s.last) of `level`.
    span descendants(int level, span s, int below) const noexcept {
        const int from = levels_[at(level)][at(s.first)].first_seat;
        const int to = levels_[at(level)][at(s.last - 1)].last_seat;
        return {group_of_[at(below)][at(from)], group_of_[at(below)][at(to - 1)] + 1};
    }
    double capacity(int level, span s) const noexcept {
        double sum = 0;
        for (int g = s.first; g < s.last; ++g) sum += capacity(level, g);
        return sum;
    }
    /// The deepest level whose groups under `s` hold these bytes together, beginning with `level` itself.
    /// Data of unknown size fit anywhere.
    int deepest_that_holds(double bytes, int level, span s) const noexcept {
        int to = level;
        while (to < leaf_level() && bytes <= capacity(to, descendants(level, s, to))) ++to;
        return to;
    }
    /// The smallest range of ranks that has the heads of these groups.
    workers heads(int level, span s) const noexcept {
        workers range{workers_in_all(), 0};
        for (int g = s.first; g < s.last; ++g) {
            const worker_id w = head(level, g);
            range = {std::min(range.first, w), std::max(range.last, w + 1)};
        }
        return range;
    }

private:
    static constexpr std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }

    static constexpr int largest_cache_level = 5;

    struct caches_of_seats {
        const machine& m;
        const policy_context& context;
        const std::vector<worker_id>& seats;
        const cache* operator()(int seat, int level) const {
            return m.cache_of(context.core_of(seats[at(seat)]), level);
        }
    };

    void take_seats(const policy_context& context) {
        const int count = context.all().size();
        seats_.clear();
        for (worker_id w = 0; w < count; ++w) seats_.push_back(w);
        std::ranges::stable_sort(seats_, {}, [&](worker_id w) { return context.core_of(w); });
        seat_of_.resize(seats_.size());
        for (int s = 0; s < count; ++s) seat_of_[at(seats_[at(s)])] = s;
    }

    /// A group for each cache of a level. Empty if some worker has no such cache, or if no two workers share
    /// one.
    std::vector<group> groups_under(const caches_of_seats& caches, int level) const {
        std::vector<group> groups;
        bool shared = false;
        for (int s = 0; s < workers_in_all(); ++s) {
            const cache* const c = caches(s, level);
            if (c == nullptr) return {};
            if (s == 0 || caches(s - 1, level) != c) groups.push_back({s, s, static_cast<double>(c->bytes)});
            groups.back().last_seat = s + 1;
            shared = shared || groups.back().last_seat - groups.back().first_seat > 1;
        }
        return shared ? groups : std::vector<group>{};
    }

    std::vector<group> single_workers(const caches_of_seats& caches) const {
        const int count = workers_in_all();
        std::vector<group> leaves;
        for (int s = 0; s < count; ++s) {
            double own = 0;
            for (int level = 1; level <= largest_cache_level; ++level) {
                const cache* const c = caches(s, level);
                if (c == nullptr) continue;
                const bool shared =
                    (s > 0 && caches(s - 1, level) == c) || (s + 1 < count && caches(s + 1, level) == c);
                if (!shared) own = std::max(own, static_cast<double>(c->bytes));
            }
            leaves.push_back({s, s + 1, own});
        }
        return leaves;
    }

    void number_groups() {
        group_of_.assign(levels_.size(), std::vector<int>(seats_.size()));
        for (std::size_t l = 0; l < levels_.size(); ++l)
            for (std::size_t g = 0; g < levels_[l].size(); ++g)
                for (int s = levels_[l][g].first_seat; s < levels_[l][g].last_seat; ++s)
                    group_of_[l][at(s)] = static_cast<int>(g);
        first_number_.assign(1, 0);
        for (const auto& level : levels_)
            first_number_.push_back(first_number_.back() + static_cast<int>(level.size()));
    }

    /// Every group of the one lies in a group of the other, and there are more of them.
    static bool refines(const std::vector<group>& fine, const std::vector<group>& coarse) {
        if (coarse.size() == 1) return true;
        if (fine.size() <= coarse.size()) return false;
        return std::ranges::all_of(coarse, [&](const group& c) {
            return std::ranges::any_of(fine, [&](const group& f) { return f.last_seat == c.last_seat; });
        });
    }

    std::vector<worker_id> seats_;
    std::vector<int> seat_of_;
    std::vector<std::vector<group>> levels_;
    std::vector<std::vector<int>> group_of_; // [level][seat]
    std::vector<int> first_number_;          // of each level; behind the last one, the count
};

} // namespace weft
