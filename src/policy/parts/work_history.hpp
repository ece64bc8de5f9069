#pragma once

#include "policy/parts/class_table.hpp"
#include "policy/parts/core_groups.hpp"
#include "policy/parts/held_lock.hpp"
#include "policy/seam/policy.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/spin_lock.hpp"
#include "task/task.hpp"
#include "task/task_class.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

/// What tasks of each class take on each group of cores, and which cores turn out slower than their group. Ours.
///
/// A time is a running mean of what tasks took that ran on one core from their begin to their end, for each unit of hints::work
/// (a task without that hint has one unit). It counts if least_samples tasks agree about it: classes whose tasks differ too
/// much tell nothing. Where a group has no time of its own, the known speeds carry over that of another group.
///
/// A core's factor is what its tasks were expected to take, over what they took; the sums forget old tasks. It counts from
/// least_for_factor tasks on, and if it is below slow_factor: other programs or heat have slowed that core. What such a core
/// takes counts in the mean as it would be at its usual speed. Cores of one
/// group are compared with each other, so it needs two of them with tasks of the same class.
///
///   word          | writer                                     | readers    | order
///   times         | the worker whose task ends, under the lock | any worker | under the lock of the class
///   sums          | likewise                                   | likewise   | under the lock of the core
///   factor        | likewise                                   | any worker | relaxed: a figure that guards nothing
namespace weft {

class work_history {
public:
    using class_id = class_table::class_id;
    static constexpr class_id no_class = class_table::no_class;
    static constexpr int most_groups = 8; ///< the slowest of more count as one
    static constexpr int least_samples = 2, least_for_factor = 8;
    static constexpr double slow_factor = 0.75;

    /// Allocates: for policy::attach.
    void attach(const core_groups& groups, int cores) {
        groups_ = &groups;
        records_ = std::make_unique<record[]>(static_cast<std::size_t>(classes_.capacity()));
        cores_ = std::make_unique<of_core[]>(static_cast<std::size_t>(cores));
    }

    class_id find_or_add(const task& t) noexcept { return classes_.find_or_add(class_of(t)); }
    static double units_of(const task& t) noexcept {
        const double work = t.hint().work;
        return std::isfinite(work) && work > 0 ? work : 1;
    }

    /// A task of the class has run on that core alone, for so long.
    void completed(class_id c, int core, double units, time_ns took) noexcept {
        if (c == no_class) return;
        const double of_unit = static_cast<double>(std::max<time_ns>(took, 1)) / units;
        double expected = 0;
        {
            record& r = records_[at(c)];
            const held_lock held(r.lock);
            mean& m = r.by_group[at(group_of(core))];
            if (m.compares()) expected = m.value;
            const double healthy = of_unit * factor(core);
            m.add(expected > 0 ? std::min(healthy, outlier * expected) : healthy);
        }
        if (expected <= 0) return;
        of_core& o = cores_[at(core)];
        const held_lock held(o.lock);
        o.expected += expected * units - o.expected / forgets;
        o.took += of_unit * units - o.took / forgets;
        if (++o.tasks < least_for_factor) return;
        const double f = o.expected / o.took;
        o.factor.store_relaxed(f < slow_factor ? f : 1);
        if (f < slow_factor) has_slowed_.store_relaxed(true);
    }

    /// Nanoseconds that so much work of the class takes on that core; 0: unknown.
    double time_on(class_id c, double units, int core) const noexcept {
        if (c == no_class) return 0;
        const int own = group_of(core);
        const record& r = records_[at(c)];
        const held_lock held(r.lock);
        if (r.by_group[at(own)].counts()) return r.by_group[at(own)].value * units / factor(core);
        for (int away = 1; away < most_groups; ++away) // the most similar group
            for (const int g : {own - away, own + away})
                if (g >= 0 && g < std::min(groups_->count(), most_groups) && r.by_group[at(g)].counts())
                    return r.by_group[at(g)].value * units * groups_->speed(g) / speed_of(core);
        return 0;
    }

    /// Of code of which nothing is known.
    double speed_of(int core) const noexcept { return groups_->speed(group_of(core)) * factor(core); }
    /// Some core is, or was once, slower than another one.
    bool are_unequal() const noexcept { return !groups_->are_equal() || has_slowed_.load_relaxed(); }

private:
    static constexpr double forgets = 16; ///< tasks
    static constexpr double outlier =
        4; ///< times the mean: more is not believed, so that one slow core does not hide itself
    struct mean {
        int samples = 0;
        double value = 0, variance = 0;

        void add(double x) noexcept {
            samples = std::min(samples + 1, 8);
            const double part = 1.0 / samples, away = x - value;
            value += part * away;
            variance = (1 - part) * (variance + part * away * away);
        }
        bool compares() const noexcept { return samples >= least_samples && variance <= value * value; }
        bool counts() const noexcept { return samples >= least_samples && variance <= value * value / 4; }
    };
    struct record {
        mutable queue::spin_lock<> lock;
        std::array<mean, most_groups> by_group;
    };
    struct alignas(queue::k_cache_line_bytes) of_core {
        queue::spin_lock<> lock;
        double expected = 0, took = 0; ///< sums
        int tasks = 0;
        queue::cell<double> factor{1};
    };

    static std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }
    int group_of(int core) const noexcept { return std::min(groups_->of_core(core), most_groups - 1); }
    double factor(int core) const noexcept { return cores_[at(core)].factor.load_relaxed(); }

    const core_groups* groups_ = nullptr;
    class_table classes_;
    std::unique_ptr<record[]> records_;
    std::unique_ptr<of_core[]> cores_;
    queue::cell<bool> has_slowed_{false};
};

} // namespace weft
