#pragma once

#include "policy/parts/held_lock.hpp"
#include "policy/parts/work_history.hpp"
#include "policy/seam/policy.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/spin_lock.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

/// What each worker runs, and how much of it is left. Ours.
///
/// Of a task whose class is known, the part that is done is counted, on each core that the task has had; of any other task the
/// work that is done, in nanoseconds of a core of speed 1. Such a task is expected to go on for as long as it has run: the
/// longer it has run, the more is left. A task that has taken far_beyond times what its class takes is of another kind: from
/// then on nothing is known of it. (For lives of Unix processes M. Harchol-Balter, A. B. Downey: Exploiting process
/// lifetime distributions for dynamic load balancing. ACM TOCS 15(3), 1997, found that.)
///
/// The worker writes its own note, and another one that gives it a new core; both under the note's lock.
namespace weft {

class running_work {
public:
    /// Allocates: for policy::attach.
    void attach(work_history& history, policy_context& context) {
        history_ = &history;
        context_ = &context;
        notes_ = std::make_unique<note[]>(static_cast<std::size_t>(context.all().size()));
    }

    /// `w` is about to run that task. `measured`: from its begin, and its class is to be learned from it.
    void finds(worker_id w, const task& t, bool measured) noexcept {
        const work_history::class_id c = measured ? history_->find_or_add(t) : work_history::no_class;
        const double units = work_history::units_of(t);
        const bool known = history_->time_on(c, units, context_->core_of(w)) > 0;
        note& n = at(w);
        n.found = true;
        n.called = 0;
        const held_lock held(n.lock);
        n.busy.store_relaxed(true);
        n.measured = measured;
        n.known = known;
        n.of_class = c;
        n.units = units;
        n.level = t.bottom_level();
        n.done = n.work = 0;
        n.began = n.since = context_->now();
    }
    /// A task begins: the one that was found, or one that it calls on its stack, which counts as the task that called it.
    void starts(worker_id w) noexcept {
        note& n = at(w);
        if (!std::exchange(n.found, false)) ++n.called;
    }
    /// A task that waited goes on: it was found, or what it waited for was over before it slept.
    void resumes(worker_id w, const task& t) noexcept {
        if (!is_busy(w)) finds(w, t, false);
        at(w).found = false;
    }
    /// `w` runs no task: it searches, or what it ran waits.
    void rests(worker_id w) noexcept {
        at(w).called = 0;
        if (is_busy(w)) leaves(w, false);
    }
    /// `w` leaves its task. `ended`: the task is over.
    void leaves(worker_id w, bool ended) noexcept {
        note& n = at(w);
        if (n.called > 0) {
            --n.called;
            return;
        }
        bool measured = false;
        time_ns took = 0;
        {
            const held_lock held(n.lock);
            measured = n.busy.load_relaxed() && n.measured && ended;
            took = context_->now() - n.began;
            n.busy.store_relaxed(false);
        }
        if (measured) history_->completed(n.of_class, context_->core_of(w), n.units, took);
    }
    /// `w` is about to get another core. By the worker that exchanges.
    void moves(worker_id w) noexcept {
        note& n = at(w);
        const held_lock held(n.lock);
        if (!n.busy.load_relaxed()) return;
        const time_ns now = context_->now();
        add_progress(n, context_->core_of(w), now);
        n.measured = false;
    }

    bool is_busy(worker_id w) const noexcept { return at(w).busy.load_relaxed(); }

    struct left {
        bool busy = false;
        int level = 0;    ///< task::bottom_level()
        double here = 0;  ///< nanoseconds that are left on the worker's core
        double there = 0; ///< the same on another core
    };
    /// What is left of the task of `w`, on its own core and on that of `other`.
    left of(worker_id w, worker_id other) const noexcept {
        note& n = at(w);
        const int here = context_->core_of(w), there = context_->core_of(other);
        const held_lock held(n.lock);
        if (!n.busy.load_relaxed()) return {};
        add_progress(n, here, context_->now());
        if (n.known && n.done > far_beyond) n.known = false;
        const double rest = n.known ? std::max(1 - n.done, n.done / 16) : n.work;
        return {true, n.level, rest * unit_on(n, here), rest * unit_on(n, there)};
    }

private:
    static constexpr double far_beyond = 2;

    struct alignas(queue::k_cache_line_bytes) note {
        queue::cell<bool> busy; ///< the worker writes it under the lock
        queue::spin_lock<> lock;
        bool found = false; ///< it has not started since; of the worker itself
        int called = 0;     ///< tasks on the stack of the one that was found; of the worker itself
        bool measured = false, known = false;
        work_history::class_id of_class = work_history::no_class;
        int level = 0;
        double units = 1;
        double done = 0; ///< until `since`: the part of the task, if its class is known
        double work = 0; ///< until `since`: nanoseconds of a core of speed 1
        time_ns began = 0, since = 0;
    };

    note& at(worker_id w) const noexcept { return notes_[static_cast<std::size_t>(w)]; }
    void add_progress(note& n, int core, time_ns now) const noexcept {
        const auto ns = static_cast<double>(now - n.since);
        n.done += n.known ? ns / unit_on(n, core) : 0;
        n.work += ns * history_->speed_of(core);
        n.since = now;
    }
    /// What is left is counted in whole tasks, or in nanoseconds of a core of speed 1: one of these, in nanoseconds of that core.
    double unit_on(const note& n, int core) const noexcept {
        const double unknown = 1 / history_->speed_of(core);
        return n.known ? std::max(history_->time_on(n.of_class, n.units, core), unknown) : unknown;
    }

    work_history* history_ = nullptr;
    policy_context* context_ = nullptr;
    std::unique_ptr<note[]> notes_;
};

} // namespace weft
