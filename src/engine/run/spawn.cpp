#include "engine/run/spawn.hpp"

#include "engine/run/switch.hpp"
#include "engine/run/tasks.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/charge.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "engine/worker/task_record.hpp"
#include "queue/spin_wait.hpp"
#include "task/sanitizers.hpp"

#include <weft/error.hpp>

#include <cstring>
#include <exception>

namespace weft::engine {

void begin_group(worker& w, group& g, task& owner) {
    if (g.flags_.load(std::memory_order_acquire) & group::flag_shown)
        return; // pairs with the release at the end
    if (g.flags_.fetch_or(group::flag_begun, std::memory_order_relaxed) & group::flag_begun) {
        // Two tasks add the first children of a group at the same time, and the other task is telling the
        // policy.
        for (queue::spin_wait<> wait; !(g.flags_.load(std::memory_order_acquire) & group::flag_shown);)
            wait.once();
        return;
    }
    g.owner_ = &owner;
    g.id_ = owner.id_ + g.spawned_.load(std::memory_order_relaxed);
    if (!(g.flags_.load(std::memory_order_relaxed) & group::flag_traced)) note_group(w, g);
    if (const std::size_t bytes = w.engine.need.group_bytes) {
        std::size_t block = bytes;
        g.data_ = w.blocks.take(block);
        sanitizer::clear_unseen(g.data_, bytes);
    }
    w.arena().scheduler->group_begin(w.local, owner, g);
    g.flags_.fetch_or(group::flag_shown, std::memory_order_release); // pairs with the loads above
}

void end_reported_group(worker& w, group& g) noexcept {
    if (!(g.flags_.load(std::memory_order_relaxed) & group::flag_begun)) return;
    g.flags_.fetch_and(~(group::flag_begun | group::flag_shown), std::memory_order_relaxed);
    w.arena().scheduler->group_end(w.local, *g.owner_, g);
    if (g.data_) {
        w.blocks.give(g.data_, (w.engine.need.group_bytes + block_cache::unit - 1) / block_cache::unit *
                                   block_cache::unit);
        g.data_ = nullptr;
    }
}

namespace {

/// Suspends the parent and runs the child at once on the fiber `on`, from where the parent is offered.
void run_child_first(worker& w, task& parent, task& child, fiber& on) noexcept {
    fiber& self = *w.current;
    parent.fiber_ = &self;
    parent.arena_ = &w.arena();
    parent.state_ = task_state::suspended;
    note_what(w, trace::kind::suspend, parent, ready_reason::continuation);
    on.become_scheduler();
    on.first = &child;
    switch_to(
        w, on,
        {[](worker& at, void* p, void*) { offer(at, *static_cast<task*>(p), ready_reason::continuation); },
         &parent, nullptr});
    parent.state_ = task_state::running;
}

void count_child(const worker& w, group& g) noexcept {
    g.open_.fetch_add(1, std::memory_order_relaxed); // the spawner's own 1 keeps it above 0 (G1)
    if (w.arena().is_team()) [[unlikely]]
        w.arena().retain();
}

void run_record(void* record) {
    task& t = *static_cast<task*>(record);
    impl::child_started();
    t.call_(t.closure_);
}

/// Breadth-first orders queue children faster than workers run them. When as many wait as may, a child is called by
/// the task that spawns it: the tree is walked depth-first from there, which needs no memory but the stack. The counts
/// are looked at now and then, so a few more may wait.
bool too_many_wait(worker& w) noexcept {
    constexpr std::uint32_t spawns_between_looks = 32;
    if (--w.spawns_to_look == 0) [[unlikely]] {
        w.spawns_to_look = spawns_between_looks;
        std::uint64_t queued = 0, begun = 0;
        for (int i = 0; i < w.engine.worker_count(); ++i) {
            const worker_counters& of = w.engine.worker_at(i).count;
            begun += of.begun.get();
            queued += of.queued.get();
        }
        w.calls_children = queued >= begun && queued - begun >= w.engine.most_waiting;
    }
    return w.calls_children;
}

/// Whether a child is called though the policy wants another order. If few stacks can be mapped, that is a child of any
/// order: a task that has called its children need not wait for them, and a wait may not fail.
bool calls_children(worker& w, const task& parent, spawn_order wanted) noexcept {
    if (!w.engine.need.demotable || parent.silent_) return false;
    if (wanted != spawn_order::parent_first && wanted != spawn_order::child_first) return false;
    if (w.engine.fibers.is_short()) [[unlikely]]
        return true;
    return wanted == spawn_order::parent_first && too_many_wait(w);
}

} // namespace

void spawn_record(group& g, task& t) {
    worker& w = enter_runtime();
    task& me = *w.current->running;
    begin_group(w, g, me);
    const hints given = t.hint_;
    adopt(t, &me, &g, given);
    try {
        execute_spawn(w, g, t,
                      !me.silent_              ? w.arena().scheduler->spawn(w.local, me, t)
                      : queues_child(w, me, g) ? spawn_order::parent_first
                                               : spawn_order::lazy);
    } catch (...) {
        leave_runtime();
        throw;
    }
    leave_runtime();
}

void execute_spawn(worker& w, group& g, task& t, spawn_order how) {
    task& parent = *w.current->running;
    if (t.preempt_ != parent.preempt_) [[unlikely]]
        how = spawn_order::parent_first; // it is no part of this task
    charge(w, operation::spawn);
    if (w.log) [[unlikely]]
        note_spawn(*w.log, t, trace::origin::child, reinterpret_cast<std::uint64_t>(&g),
                   trace::address_of(t.call_));
    if (calls_children(w, parent, how)) how = spawn_order::call;
    if (how == spawn_order::child_first || how == spawn_order::lazy) {
        fiber* on = nullptr;
        try {
            on = &take_fiber(w);
        } catch (const error&) {
            if (!w.engine.need.demotable) {
                if (t.drop_) t.drop_(t.closure_);
                free_task(&w, t);
                throw;
            }
            how = spawn_order::call;
        }
        if (how == spawn_order::child_first) {
            count_child(w, g);
            return run_child_first(w, parent, t, *on);
        }
        if (how == spawn_order::lazy) {
            t.silent_ = true;
            w.count.tasks.add();
            w.arena().scheduler->started(w.local, t);
            t.state_ = task_state::running;
            note_what(w, trace::kind::begin, t, trace::start::below);
            return run_below(w, g, *on, t, run_record,
                             &t); // the closure is in the record: it cannot be refused
        }
    }
    count_child(w, g);
    if (how != spawn_order::parent_first) return call(w, t, false);
    t.queued_ = true;
    w.count.queued.add();
    t.silent_ = t.of_wide_group_ = parent.silent_; // only these spawn one in the silent zone
    offer(w, t, ready_reason::spawned);
}

} // namespace weft::engine
