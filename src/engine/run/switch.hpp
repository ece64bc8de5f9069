#pragma once

#include "engine/worker/engine.hpp"
#include "engine/worker/worker.hpp"
#include "task/stack_switch.hpp"

#include <utility>

/// The switch between fibers, inlined where it is hot.
namespace weft::engine {

/// Switches from the code on `from` to the code on `to`; returns when a switch comes back to `from`. The code
/// that is arrived at saves the context of the fiber that was left. Before, `from.modes` is brought up to date.
[[gnu::always_inline]] inline arrival change_stacks(fiber& from, fiber& to) noexcept {
    if constexpr (sanitizer::is_instrumented) sanitizer::leave(from, to);
    return switch_context(to.context, &from);
}

/// The first step on the stack that was switched to: saves the context of the fiber that was left.
[[gnu::always_inline]] inline void save_context(fiber& self, arrival at) noexcept {
    const auto [left, data] = at;
    auto* before = static_cast<fiber*>(data);
    before->context = left;
    self.modes.replace(before->modes);
    if constexpr (sanitizer::is_instrumented)
        sanitizer::arrive(*before, self);
    else if (sanitizer::hears_of_switches.load(std::memory_order_relaxed)) [[unlikely]]
        sanitizer::announce_switch(*before, self);
}

/// Exceptions in flight move with the fiber: out of the thread's record when the fiber is left, back when it continues.
[[gnu::always_inline]] inline void save_exceptions(fiber& self, exception_globals& of_thread) noexcept {
    if (of_thread.any()) [[unlikely]]
        self.exceptions = std::exchange(of_thread, {});
}
[[gnu::always_inline]] inline void restore_exceptions(fiber& self, exception_globals& of_thread) noexcept {
    if (self.exceptions.any()) [[unlikely]]
        of_thread = std::exchange(self.exceptions, {});
}

/// The code of `self` continues: saves the context of the fiber that was left, restores the thread-local
/// words of `self` and runs the switch_action.
[[gnu::always_inline]] inline void arrived(fiber& self, arrival at) noexcept {
    save_context(self, at);
    worker& w = *impl::hot_self();
    restore_exceptions(self, *w.exceptions);
    impl::set_hot_head(self.head);
    if (const auto action = w.after_switch; action.run) {
        w.after_switch.run = nullptr;
        action.run(w, action.a, action.b);
    }
}

/// Leaves the current fiber, whose `modes` are up to date, for `to`; `after` runs on `to` once the current one is saved.
[[gnu::always_inline]] inline void switch_with_modes(worker& w, fiber& to, switch_action after) noexcept {
    fiber& from = *w.current;
    from.head = w.hot->head;
    save_exceptions(from, *w.exceptions);
    if (after.run) w.after_switch = after;
    w.current = &to;
    arrived(from, change_stacks(from, to));
}

[[gnu::always_inline]] inline void switch_to(worker& w, fiber& to, switch_action after) noexcept {
    w.current->modes.update();
    switch_with_modes(w, to, after);
}

// switch.cpp
fiber& take_mapped_fiber_untold(worker& w);

/// A free fiber. Throws weft::error if there is no stack.
[[gnu::always_inline]] inline fiber& take_fiber(worker& w) {
    if (fiber* f = w.free_fibers) [[likely]] {
        w.free_fibers = f->free_next;
        return *f;
    }
    return *w.engine.fibers.take();
}

/// take_fiber() of a caller that has entered the runtime without telling the meter, and leaves it again if there is no stack.
[[gnu::always_inline]] inline fiber& take_fiber_untold(worker& w) {
    if (fiber* f = w.free_fibers) [[likely]] {
        w.free_fibers = f->free_next;
        return *f;
    }
    return take_mapped_fiber_untold(w);
}

/// Keeps a free fiber for the worker's next use; false if the worker has enough of them.
[[gnu::always_inline]] inline bool keep_fiber(worker& w, fiber& f) noexcept {
    constexpr int cached = 16;
    fiber* const next = w.free_fibers;
    const int rank = next ? next->free_rank + 1 : 1;
    if (rank > cached) return false;
    // Mostly the fiber that was taken last comes back: the place in the list is as it was.
    if (f.free_next != next) f.free_next = next;
    if (f.free_rank != rank) f.free_rank = rank;
    w.free_fibers = &f;
    return true;
}

inline void free_fiber(worker& w, fiber& f) noexcept {
    if (!keep_fiber(w, f)) w.engine.fibers.give(&f);
}

/// Leaves the current fiber, on which no code is left, for `to`, and frees it. Only this worker takes the
/// fibers that it keeps, so it may keep a fiber before it has left that fiber.
[[gnu::always_inline]] inline void leave_for_good(worker& w, fiber& to) noexcept {
    fiber& self = *w.current;
    self.modes.update();
    if (!keep_fiber(w, self)) [[unlikely]]
        w.after_switch = {[](worker& at, void* f, void*) { at.engine.fibers.give(static_cast<fiber*>(f)); },
                          &self, nullptr};
    w.current = &to;
    arrived(self, change_stacks(self, to));
}

// switch.cpp
/// Saves the current fiber with its innermost task, and runs the scheduler on another fiber. `action` runs
/// there once the fiber is saved, and publishes the task to the threads that may make it ready. Returns, in
/// the runtime, when the task was resumed. If there is no stack for the scheduler, it takes one of the reserve. If that is
/// empty, too, it tries again for a while, and then ends the program, naming the knob to turn: other workers hold
/// addresses in the current stack, so it cannot be unwound, and a lock(), or the destructor of a group, must not return.
void suspend(worker&, ready_reason reason, void (*action)(worker&, void*, void*), void* a, void* b) noexcept;
/// The parts of suspend() before and after the switch: what is to be told of a task that stops, and of one that goes on.
void begin_suspension(worker&, fiber& self, ready_reason reason) noexcept;
void end_suspension(task&) noexcept;
/// Scheduler, on a fiber of the reserve: whether it starts `t`, which is fresh. If `t` had to wait, there would be no other
/// fiber, and the task that could end the shortage may be ready. So `t` goes back to the policy, behind others, until
/// there is memory again or nothing else has run for a second.
bool starts_on_reserve(worker&, task& t) noexcept;
/// Scheduler: resumes a suspended task; the current fiber becomes free.
void resume(worker&, task&) noexcept;
void fiber_entry(arrival) noexcept;

} // namespace weft::engine
