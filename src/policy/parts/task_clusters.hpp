#pragma once

#include "policy/parts/class_history.hpp"
#include "policy/parts/core_groups.hpp"
#include "policy/parts/optimal_cut.hpp"
#include "policy/parts/preference_list.hpp"

#include "queue/cell.hpp"
#include "queue/locked_list.hpp"
#include "queue/spin_lock.hpp"
#include "task/task.hpp"
#include "task/task_class.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

/// The pools of AATS, one for each class of tasks, and which group of cores each class belongs to.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.7.2 and 5.8.
///
/// The classes that belong to a group are its cluster. Any worker puts and takes; each pool has its own lock. divide() gives the
/// classes to the groups anew, by what one of their tasks takes on the fastest group, in descending order, and by
/// Algorithm 8. It gives up if it does not know what a task of each class takes on each group.
///
/// Pools have numbers in the order in which their classes came. A program with more than `most` classes has one pool for the rest.
///
///   word        | writer                | readers      | order
///   pools_      | holder of adding_     | any worker   | release, read with acquire: the class of each pool below it is known
///   number_     | holder of adding_     | any worker   | release, read with acquire: likewise
///   cluster_    | holder of dividing_   | any worker   | relaxed: which pool is looked at first, and guards nothing
///   rank_       | holder of dividing_   | any worker   | relaxed: likewise
///   divided_    | holder of dividing_   | any worker   | relaxed: likewise
///
/// A class may change its cluster while a worker goes through the clusters, so that the worker sees it in none. A worker that may take
/// from all clusters looks at all pools at last. With rules for less, the caller wakes the workers after a division that changed
/// something.
namespace weft {

class task_clusters {
public:
    struct rules {
        bool own_only = false; ///< a worker takes nothing of another cluster
        bool guard =
            false; ///< nor what would take longer on it than the other group needs for all that waits
        bool in_order = false; ///< the pool of the longest tasks of a cluster first, and not a random one
    };

    static constexpr int most = 64;

    /// `classes` has room for `most` classes or more. Allocates: for policy::attach.
    void attach(const core_groups& groups, class_history& classes, rules by) {
        assert(classes.capacity() >=
               most); // a class without a number has the last pool, which is looked at if all are in use
        groups_ = &groups;
        classes_ = &classes;
        rules_ = by;
        lists_ = std::make_unique<queue::locked_list<task>[]>(at(most));
        number_ = std::make_unique<queue::cell<std::uint8_t>[]>(at(classes.capacity()));
        cuts_.attach(most, classes.groups());
    }

    int count() const noexcept { return classes_->groups(); }
    /// The group that the worker's core is in; the slowest groups of a machine with many count as one.
    int group_of(worker_id w) const noexcept { return std::min(groups_->of(w), count() - 1); }

    /// The pool of a task's class.
    int pool_of(const task& t) noexcept {
        const class_history::class_id c = classes_->find_or_add(class_of(t));
        if (c == class_history::no_class) return most - 1;
        const int known = number_[at(c)].load_acquire(); // pairs with the store of add()
        return known > 0 ? known - 1 : add(c);
    }
    class_history::class_id class_in(int pool) const noexcept { return class_[at(pool)]; }

    void put(int pool, task& t) noexcept { lists_[at(pool)].push_back(&t); }

    bool are_divided() const noexcept { return divided_.load_relaxed(); }
    int cluster_of(int pool) const noexcept { return cluster_[at(pool)].load_relaxed(); }

    /// Of a complete batch, and whether anything has changed: a class counts by the tasks that wait (table 5.4).
    bool divide_batch() noexcept {
        return divide([&](int pool) { return static_cast<double>(lists_[at(pool)].size()); },
                      [&](int pool, int g) { return classes_->batch_time(class_in(pool), g); });
    }
    /// Of a program without batches: a class counts by the tasks that have ended (table 5.3).
    bool divide_history() noexcept {
        return divide([&](int pool) { return static_cast<double>(classes_->count(class_in(pool))); },
                      [&](int pool, int g) { return classes_->time(class_in(pool), g); });
    }

    struct look {
        task* t = nullptr;
        int pool = -1; ///< the one looked at; -1: none has a task that the worker may take
    };

    /// Algorithm 9, one pool of it, for a worker on a core of that group: a random one of the first cluster in its order of
    /// preference that has a task, or the first one (5.8.1, "basic strategy"). `draw(n)` is below n.
    template <class Draw>
    look take(int group, Draw&& draw) noexcept {
        candidates found;
        const bool divided = are_divided();
        if (divided) {
            const int last = rules_.own_only ? 1 : count();
            for (int n = 0; n < last && found.count == 0; ++n)
                collect(group, preferred_group(group, count(), n), found);
        }
        if (!divided || (found.count == 0 && !rules_.own_only && !rules_.guard)) {
            for (int pool = 0; pool < pools(); ++pool)
                if (!lists_[at(pool)].empty()) found.add(pool);
        }
        if (found.count == 0) return {};
        if (divided && rules_.in_order) found = {{first_of(found)}, 1};
        const auto drawn = found.count == 1 ? 0U : draw(static_cast<std::uint32_t>(found.count));
        const int pool = found.list[drawn];
        return {lists_[at(pool)].try_pop_front(), pool};
    }

private:
    struct row {
        int pool;
        double tasks;
        std::array<double, class_history::most_groups> time; // of one of them, by group
    };

    static std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }

    struct candidates {
        std::array<std::uint8_t, most> list;
        int count = 0;

        void add(int pool) noexcept { list[at(count++)] = static_cast<std::uint8_t>(pool); }
    };

    std::uint8_t first_of(const candidates& found) const noexcept {
        const auto rank = [&](std::uint8_t pool) { return rank_[pool].load_relaxed(); };
        return *std::ranges::min_element(found.list.begin(), found.list.begin() + found.count, {}, rank);
    }

    int pools() const noexcept { return pools_.load_acquire(); } // pairs with the store of add()

    int add(class_history::class_id c) noexcept {
        const std::lock_guard held(adding_);
        if (const int known = number_[at(c)].load_relaxed(); known > 0) return known - 1;
        const int added = pools_.load_relaxed();
        const int pool = std::min(added, most - 1);
        if (added < most) {
            class_[at(pool)] = c;
            pools_.store_release(added + 1); // pairs with the load of pools()
        }
        number_[at(c)].store_release(static_cast<std::uint8_t>(pool + 1)); // pairs with the load of pool_of()
        return pool;
    }

    /// The pools of a cluster from which a core of group `own` may take.
    void collect(int own, int cluster, candidates& found) const noexcept {
        const bool guarded = rules_.guard && cluster < own;
        double waits = 0, lightest = 0; // by the times of the last division
        int best = -1;
        for (int pool = 0; pool < pools(); ++pool) {
            if (cluster_of(pool) != cluster || lists_[at(pool)].empty()) continue;
            if (!guarded) {
                found.add(pool);
                continue;
            }
            const double here = classes_->batch_time(class_in(pool), own).value_or(0);
            waits += static_cast<double>(lists_[at(pool)].size()) *
                     classes_->batch_time(class_in(pool), cluster).value_or(0);
            if (best < 0 || here < lightest) best = pool, lightest = here;
        }
        if (best >= 0 && lightest <= waits / cores_in(cluster)) found.add(best);
    }

    int cores_in(int group) const noexcept {
        int found = groups_->workers_in(group);
        for (int g = count(); group == count() - 1 && g < groups_->count(); ++g)
            found += groups_->workers_in(g);
        return std::max(found, 1);
    }

    template <class Count, class Time>
    bool divide(const Count& tasks, const Time& time) noexcept {
        const std::lock_guard held(dividing_);
        int rows = 0;
        for (int pool = 0; pool < pools(); ++pool) {
            row& r = row_[at(rows)];
            r.pool = pool;
            r.tasks = tasks(pool);
            if (r.tasks <= 0) continue;
            for (int g = 0; g < count(); ++g) {
                const std::optional<double> known = time(pool, g);
                if (!known) return divided_.exchange(false);
                r.time[at(g)] = *known;
            }
            ++rows;
        }
        std::sort(row_.begin(), row_.begin() + rows, [](const row& a, const row& b) {
            return a.time[0] > b.time[0] || (!(a.time[0] < b.time[0]) && a.pool < b.pool);
        });
        std::array<int, class_history::most_groups> cores{};
        for (int g = 0; g < count(); ++g) cores[at(g)] = cores_in(g);
        const auto ends = cuts_.find(
            rows, [&](int i, int g) { return row_[at(i)].tasks * row_[at(i)].time[at(g)]; },
            [&](int g) { return cores[at(g)]; });
        bool changed = !divided_.exchange(true);
        for (int g = 0, i = 0; g < count(); ++g)
            for (; i < ends[at(g)]; ++i) {
                auto& of = cluster_[at(row_[at(i)].pool)];
                changed = changed || of.load_relaxed() != g;
                of.store_relaxed(static_cast<std::int8_t>(g));
                rank_[at(row_[at(i)].pool)].store_relaxed(static_cast<std::uint8_t>(i));
            }
        return changed;
    }

    const core_groups* groups_ = nullptr;
    class_history* classes_ = nullptr;
    rules rules_;
    std::unique_ptr<queue::locked_list<task>[]> lists_;    // by pool
    std::unique_ptr<queue::cell<std::uint8_t>[]> number_;  // by class, its pool and 1; 0: none yet
    std::array<class_history::class_id, most> class_{};    // by pool
    std::array<queue::cell<std::int8_t>, most> cluster_{}; // by pool
    std::array<queue::cell<std::uint8_t>, most>
        rank_{}; // by pool: its place in the order of the last division
    queue::cell<int> pools_;
    queue::cell<bool> divided_;
    queue::spin_lock<> adding_, dividing_;
    std::array<row, most> row_{}; // under dividing_, as cuts_
    optimal_cut cuts_;
};

} // namespace weft
