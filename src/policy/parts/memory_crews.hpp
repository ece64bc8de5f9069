#pragma once

#include "policy/parts/memory_groups.hpp"
#include "policy/parts/places.hpp"

#include "queue/cell.hpp"
#include "queue/locked_list.hpp"
#include "queue/sync.hpp"

#include <cstddef>
#include <memory>
#include <vector>

/// A crew for each memory group, the workers under it: what policies share that let a task run under some
/// cache only, and not always.
///
/// Each crew has two lists, of tasks and, behind them, of those that yielded. A crew of the last level is one
/// worker, and its lists are that worker's.
///
/// A crew is idle while none of its workers runs a task. A policy that keeps tasks back lets one of them go
/// where a crew is idle: otherwise who holds the room might wait for who does not get it. What a worker runs
/// is told by runs() and stops(), in next() and in the hooks about a task.
namespace weft {

class memory_crews {
public:
    static constexpr unsigned failures_to_help = 256;

    struct alignas(queue::k_cache_line_bytes) crew {
        queue::locked_list<task> tasks;  // oldest in front
        queue::locked_list<task> behind; // that yielded
        queue::cell<int> running;        // workers that run a task
        workers who;                     // fixed: the smallest range of ranks that has them
        bool adjacent = false;           // fixed: it has nobody else
    };
    struct alignas(queue::k_cache_line_bytes) worker_part { // the worker's alone
        const task* runs = nullptr;
        unsigned turns = 0, looks = 0;
        unsigned failures = 0; // looks in a row that gave nothing
        unsigned yields = 0;   // since it began a task, or looked elsewhere because of them
    };

    /// Allocates: for policy::attach.
    void attach(const machine& m, policy_context& context) {
        context_ = &context;
        groups_.attach(m, context, true);
        int count = 0;
        first_of_.clear();
        for (int l = 0; l < groups_.levels(); ++l) {
            first_of_.push_back(count);
            count += groups_.groups(l);
        }
        count_ = count;
        crews_ = std::make_unique<crew[]>(static_cast<std::size_t>(count));
        for (int l = 0; l < groups_.levels(); ++l) {
            for (int i = 0; i < groups_.groups(l); ++i) {
                const auto seats = groups_.descendants(l, {i, i + 1}, groups_.leaf_level());
                at(l, i).who = groups_.heads(groups_.leaf_level(), seats);
                at(l, i).adjacent = at(l, i).who.size() == seats.last - seats.first;
            }
        }
        mine_ = std::make_unique<worker_part[]>(static_cast<std::size_t>(groups_.workers_in_all()));
    }

    const memory_groups& groups() const noexcept { return groups_; }
    int count() const noexcept { return count_; } ///< of crews, which are numbered level by level
    int number(int level, int i) const noexcept { return first_of_[static_cast<std::size_t>(level)] + i; }
    crew& by_number(int n) noexcept { return crews_[static_cast<std::size_t>(n)]; }
    crew& at(int level, int i) noexcept { return by_number(number(level, i)); }
    /// That of the level to which a worker belongs.
    crew& around(int level, worker_id w) noexcept { return at(level, groups_.of_worker(level, w)); }
    crew& alone(worker_id w) noexcept { return around(groups_.leaf_level(), w); }
    worker_part& of(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }
    bool has(int level, int i, worker_id w) const noexcept { return groups_.of_worker(level, w) == i; }

    /// Where a task of a crew is put that any of its workers may run.
    placement for_any_of(int level, int i, place_id place) {
        const crew& c = at(level, i);
        if (c.adjacent) return {place, c.who};
        context_->wake(c.who); // the one that the engine takes might be none of them
        return {place, {}};
    }

    void runs(worker_id w, const task& t) noexcept {
        if (of(w).runs == nullptr) count_running(w, 1);
        of(w).runs = &t;
    }
    /// The same, but of a worker that may run it inside of another task.
    void begins(worker_id w, const task& t) noexcept {
        if (of(w).runs == nullptr) runs(w, t);
    }
    void stops(worker_id w) noexcept {
        if (of(w).runs == nullptr) return;
        of(w).runs = nullptr;
        count_running(w, -1);
    }
    /// A task that yields goes behind the others; so does one that is preempted.
    bool goes_behind(worker_id w, ready_reason reason) noexcept {
        const bool yields = reason == ready_reason::yielded || reason == ready_reason::preempted;
        if (yields) ++of(w).yields;
        return yields;
    }
    /// The worker sees only tasks that yield, maybe to what is kept back: one look stops before them and lets
    /// that in, too.
    bool sees_only_yields(worker_id w) noexcept { return of(w).yields >= places::yields_to_look; }

    /// The worker has looked long enough to let in what is kept back from an idle crew. A last look has, but
    /// a worker that never sleeps has none.
    bool may_help(worker_id w, bool last_look) noexcept {
        return last_look || of(w).failures >= failures_to_help;
    }
    void looked(worker_id w, const task* got) noexcept {
        if (sees_only_yields(w) || (got != nullptr && got->fresh())) of(w).yields = 0;
        if (got != nullptr) runs(w, *got);
        of(w).failures = got != nullptr ? 0 : of(w).failures + 1;
    }
    bool is_idle(int level, worker_id w) noexcept { return around(level, w).running.load_relaxed() == 0; }

    /// The worker stops running `t`, and may not look for another task, since it may go to a team: if some
    /// are kept back, those look that may now be let go by an idle crew.
    void leaves(worker_id w, const task& t, bool some_are_kept_back) {
        if (of(w).runs != &t) return;
        stops(w);
        if (!some_are_kept_back) return;
        for (int l = 1; l < groups_.leaf_level(); ++l) {
            if (!is_idle(l, w)) continue;
            context_->wake(around(l, w).who);
            return;
        }
    }

private:
    void count_running(worker_id w, int change) noexcept {
        for (int l = 1; l < groups_.leaf_level(); ++l) around(l, w).running.add(change);
    }

    policy_context* context_ = nullptr;
    memory_groups groups_;
    std::vector<int> first_of_;
    int count_ = 0;
    std::unique_ptr<crew[]> crews_;
    std::unique_ptr<worker_part[]> mine_;
};

} // namespace weft
