#pragma once

#include "policy/seam/policy.hpp"

#include "queue/cell.hpp"
#include "queue/spin_lock.hpp"
#include "task/task.hpp"

#include <cstdint>

/// Whether a batch of tasks is complete: while a task adds children to a group, the policy keeps them.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.7.1.2: a program
///   generates all tasks of a batch before workers execute any.
///
/// A task adds to a group from its first child to its wait. The gate is closed while some task adds to some group.
///
/// So that nothing waits for ever, a task stops adding, for the gate, if it blocks, yields or ends as well, or if a child blocks
/// that the engine has called on its stack (requirements::demotable). What it waits for
/// may be one of its children. And tick() opens the gate if no child was added for `patience` ticks: the task may be
/// waiting for a child in a loop, or be busy with something else.
///
///   word        | writer                | readers            | order
///   adding_     | holder of lock_       | any worker         | release; is_open() acquires: it sees what came before the opening
///   added_      | any worker            | tick               | relaxed: a count
///   epoch_, gave_up_ | holder of lock_  | holder of lock_    | plain
///
/// B1. adding_ is the sum of task_part::groups over the live tasks whose epoch is epoch_.
/// B2. A task's part is touched by the worker that runs the task, and by no other; before, by the one that spawns or offers it.
///     (no test)
/// B3. A task is put, then keeps() is asked; the gate is opened, then workers are woken. Both go through lock_. If the
///     question comes first, the workers that are woken see the task. If the opening comes first, the answer is no, and the caller
///     announces the task as any other.
///
/// Every function that may open the gate says whether it did. Its caller then arranges for the batch and wakes the workers.
namespace weft {

class batch_gate {
public:
    struct task_part { ///< zero: adds to no group
        std::uint32_t epoch;
        std::int32_t groups; ///< to which it adds children
        bool called; ///< spawned, and not offered: it runs on the stack of its parent, if it has begun
    };
    static constexpr int patience = 2;

    bool is_open() const noexcept { return adding_.load_acquire() == 0; } // pairs with the stores of set()

    /// policy::group_begin: its owner adds the first child.
    void begins(task_part& owner) noexcept {
        const std::lock_guard held(lock_);
        if (gave_up_) return;
        if (owner.epoch != epoch_) owner.epoch = epoch_, owner.groups = 0;
        ++owner.groups; // B1, and B2: the caller runs it
        set(adding_.load_relaxed() + 1);
    }
    void added() noexcept { added_.add(1); } ///< policy::spawn

    /// Whether a task that was put waits for the gate to open (B3). Otherwise a worker must be woken for it.
    bool keeps() noexcept {
        const std::lock_guard held(lock_);
        return !is_open();
    }

    /// policy::group_wait, of the task that the group belongs to.
    bool waits(task_part& owner) noexcept { return leaves(owner, 1); }
    /// policy::blocked: the task, and those that have called it, which wait with it on the same stack. `part(t)` is the part of
    /// a task.
    template <class Part>
    bool suspends(task& t, Part&& part) noexcept {
        bool opens = stops(part(t));
        for (task* at = &t; part(*at).called && at->parent() != nullptr;)
            if (at = at->parent(); stops(part(*at))) opens = true;
        return opens;
    }
    /// policy::finished.
    bool stops(task_part& t) noexcept { return t.groups > 0 && leaves(t, t.groups); }

    /// policy::tick.
    bool tick() noexcept {
        const std::uint32_t added = added_.load_relaxed();
        const bool grew = added != added_before_;
        added_before_ = added;
        quiet_ = grew || is_open() ? 0 : quiet_ + 1;
        if (quiet_ < patience) return false;
        const std::lock_guard held(lock_);
        if (is_open()) return false;
        ++epoch_;
        set(0);
        return true;
    }

    /// Opens the gate for good: nothing is kept any more.
    void give_up() noexcept {
        const std::lock_guard held(lock_);
        gave_up_ = true;
        ++epoch_; // what tasks have counted is void
        set(0);
    }

private:
    bool leaves(task_part& t, std::int32_t groups) noexcept {
        const std::lock_guard held(lock_);
        if (t.groups < groups) return false;
        t.groups -= groups;
        if (t.epoch != epoch_) return false;
        set(adding_.load_relaxed() - groups);
        return adding_.load_relaxed() == 0;
    }
    // release: pairs with the load of is_open()
    void set(std::int32_t adding) noexcept { adding_.store_release(adding); }

    queue::spin_lock<> lock_;
    queue::cell<std::int32_t> adding_;
    queue::cell<std::uint32_t> added_;
    std::uint32_t epoch_ = 1;
    bool gave_up_ = false;
    std::uint32_t added_before_ = 0; // only tick()
    int quiet_ = 0; // only tick(): ticks in a row at which the gate was closed and nothing was added
};

} // namespace weft
