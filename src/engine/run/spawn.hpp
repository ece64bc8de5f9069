#pragma once

#include "engine/run/switch.hpp"
#include "engine/worker/arena.hpp"
#include "trace/write/names.hpp"

#include <atomic>

/// Spawns of the reported zone, and the silent run of a child.
namespace weft::engine {

/// Tells the policy of a group at the group's first spawn, and of the group's end.
void begin_group(worker&, group&, task& owner);
void end_reported_group(worker&, group&) noexcept;

/// Spawns `t`, which adopt() has made a child of the current task, in the order `how`. If there is no stack
/// for `t`, drops it and throws weft::error.
void execute_spawn(worker&, group&, task& t, spawn_order how);

/// Spawns a task as a child of the current task, in the order that the policy or the zone wants; takes its hints from
/// the record. If there is no stack for it, drops it and throws weft::error.
void spawn_record(group&, task&);

/// Whether the next child of a silent task becomes a task in a queue instead of running at once: that of a wide group, or
/// one more future of a task that makes many.
inline bool queues_child(const worker& w, const task& parent, const group& g) {
    const bool is_wide = g.apart_ ? parent.handovers_ >= group::handovers_to_wide
                                  : (g.flags_.load(std::memory_order_relaxed) & group::flag_wide) != 0;
    return is_wide && w.arena().scheduler->queues_child(w.local);
}

/// Waits until no child of the group is open. The group keeps its exceptions.
void wait_until_done(group&);
/// Runs a root, the one open child of its group, and waits for it; in a thread that is no worker.
void run_from_outside(engine&, task& root, trace::code_address);

/// Silent zone, or a spawn that the policy wants silent: the child runs at once on a stack of its own, and
/// the parent's fiber stays below it as an entry that can be exposed. Returns when the parent continues,
/// which may be on another worker.
[[gnu::always_inline]] inline void run_below(worker& w, group& g, fiber& child, task& as, void (*body)(void*),
                                             void* source) noexcept {
    fiber& self = *w.current;
    self.above = &child;
    continuation& k = child.parent_continuation; // not exposed, not read
    k.parent = &self;
    k.in = &g;
    self.modes.update();
    child.modes = self.modes;
    child.reset_chain();
    child.running = &as;
    child.has_child = true;
    child.child_has_started = false;
    child.child_body = body;
    child.child_source = source;
    switch_with_modes(w, child, {});
}

} // namespace weft::engine
