#pragma once

#include "policy/parts/fair_turns.hpp"
#include "policy/parts/memory_groups.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/locked_list.hpp"

#include <cstddef>
#include <memory>

/// A worker group for each memory group, the workers under it: the part of a policy that lets a task run
/// under some cache only, and not at all times.
///
/// Each worker group has two lists: tasks, and behind them the tasks that yielded. A worker group of the last
/// level is one worker, and its lists are that worker's.
///
/// A worker group is idle while none of its workers runs a task. A policy that keeps tasks back lets one of
/// them in where the group is idle: otherwise the task that holds the room might wait for the one that does
/// not get it. The policy tells by runs() and stops() what a worker runs, in next() and in the hooks about a
/// task. No rule here says which task may run where.
namespace weft {

class memory_worker_groups {
public:
    static constexpr unsigned failures_to_help = 256;

    struct alignas(queue::k_cache_line_bytes) worker_group {
        queue::locked_list<task> tasks;   // oldest in front; any worker
        queue::locked_list<task> yielded; // any worker
        queue::cell<int> running;         // workers that run a task; each counts itself
        workers members;                  // fixed: the smallest range of ranks that has them
        bool is_range = false;            // fixed: that range has no other worker
    };
    struct alignas(queue::k_cache_line_bytes) worker_part { // only its worker touches it
        const task* runs = nullptr;
        fair_turns turns; // its yields: since the worker began a task, or looked elsewhere because of them
        unsigned looks = 0;
        unsigned failures = 0; // looks in a row that gave nothing
    };

    /// Allocates: for policy::attach.
    void attach(const machine& m, policy_context& context) {
        context_ = &context;
        groups_.attach(m, context, true);
        worker_groups_ = std::make_unique<worker_group[]>(static_cast<std::size_t>(groups_.count()));
        for (int l = 0; l < groups_.levels(); ++l) {
            for (int i = 0; i < groups_.groups(l); ++i) {
                const auto seats = groups_.descendants(l, {i, i + 1}, groups_.leaf_level());
                at(l, i).members = groups_.heads(groups_.leaf_level(), seats);
                at(l, i).is_range = at(l, i).members.size() == seats.last - seats.first;
            }
        }
        mine_ = std::make_unique<worker_part[]>(static_cast<std::size_t>(groups_.workers_in_all()));
    }

    const memory_groups& groups() const noexcept { return groups_; }
    worker_group& by_number(int number) noexcept { return worker_groups_[static_cast<std::size_t>(number)]; }
    worker_group& at(int level, int i) noexcept { return by_number(groups_.number(level, i)); }
    /// That of the level to which a worker belongs.
    worker_group& around(int level, worker_id w) noexcept { return at(level, groups_.of_worker(level, w)); }
    worker_group& alone(worker_id w) noexcept { return around(groups_.leaf_level(), w); }
    worker_part& of(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }
    bool has(int level, int i, worker_id w) const noexcept { return groups_.of_worker(level, w) == i; }

    /// The placement of a task that any worker of the group may run.
    placement for_any_of(int level, int i, place_id place) {
        const worker_group& g = at(level, i);
        if (g.is_range) return {place, g.members};
        context_->wake(g.members); // the engine would wake one worker of the range, maybe of another group
        return {place, {}};
    }

    void runs(worker_id w, const task& t) noexcept {
        if (of(w).runs == nullptr) count_running(w, 1);
        of(w).runs = &t;
    }
    /// The same, for a worker that may run `t` inside of another task.
    void begins(worker_id w, const task& t) noexcept {
        if (of(w).runs == nullptr) runs(w, t);
    }
    void stops(worker_id w) noexcept {
        if (of(w).runs == nullptr) return;
        of(w).runs = nullptr;
        count_running(w, -1);
    }
    /// A task that yields goes behind the others.
    bool goes_behind(worker_id w, ready_reason reason) noexcept {
        const bool yields = weft::goes_behind(reason);
        if (yields) of(w).turns.yielded();
        return yields;
    }
    /// The tasks of the worker only yield, maybe to a task that is kept back: one look stops before them, and
    /// lets that task in as well.
    bool sees_only_yields(worker_id w) noexcept { return of(w).turns.sees_only_yields(); }

    /// The worker has looked long enough to let in what is kept back from an idle group. A last look has, but
    /// a worker that never sleeps has no last look.
    bool may_help(worker_id w, bool last_look) noexcept {
        return last_look || of(w).failures >= failures_to_help;
    }
    void looked(worker_id w, const task* got) noexcept {
        if (sees_only_yields(w) || (got != nullptr && got->fresh())) of(w).turns.looked_elsewhere();
        if (got != nullptr) runs(w, *got);
        of(w).failures = got != nullptr ? 0 : of(w).failures + 1;
    }
    bool is_idle(int level, worker_id w) noexcept { return around(level, w).running.load_relaxed() == 0; }

    /// The worker stops running `t`. It may not look for another task, since it may go to a team. So if tasks
    /// are kept back, the workers of its largest idle group look, since that group may let one in now.
    void leaves(worker_id w, const task& t, bool some_are_kept_back) {
        if (of(w).runs != &t) return;
        stops(w);
        if (!some_are_kept_back) return;
        for (int l = 1; l < groups_.leaf_level(); ++l) {
            if (!is_idle(l, w)) continue;
            context_->wake(around(l, w).members);
            return;
        }
    }

private:
    void count_running(worker_id w, int change) noexcept {
        for (int l = 1; l < groups_.leaf_level(); ++l) around(l, w).running.add(change);
    }

    policy_context* context_ = nullptr;
    memory_groups groups_;
    std::unique_ptr<worker_group[]> worker_groups_;
    std::unique_ptr<worker_part[]> mine_;
};

} // namespace weft
