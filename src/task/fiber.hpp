#pragma once

#include "task/context_switch.hpp"
#include "task/floating_point_modes.hpp"
#include "task/sanitizers.hpp"
#include "task/stack.hpp"
#include "task/task.hpp"

#include <weft/impl/hot.hpp>

#include <atomic>
#include <cstddef>
#include <exception>

namespace weft {

/// The exceptions in flight that the C++ runtime keeps for each thread. They belong to the code on a stack,
/// so they move with the fiber (Itanium C++ ABI, section 2.2.2, __cxa_eh_globals).
struct exception_globals {
    void* caught = nullptr;
    unsigned int uncaught = 0;

    bool any() const noexcept { return caught || uncaught; }
};

/// The continuation of a `task_group::run` in the silent zone: an entry like a frame (`run` is null). It
/// comes after all frames of the parent's fiber, is reached by `fiber::above`, and lies in the child's fiber.
struct continuation : impl::frame {
    static constexpr std::int32_t unexposed =
        -2; ///< value of `thief` until it is exposed, and in a free fiber
    fiber* parent = nullptr;
    std::atomic<bool> read{
        false}; ///< the thief has read it: the child's fiber may be used again; false in a free fiber
    group* in = nullptr; ///< its group, which counts one more child from the exposure on
};

/// A stack, with the saved state of the code on it. Its body is a loop that runs either one child (the silent
/// `task_group::run`) or the scheduler. A free fiber is suspended inside that loop.
///
/// The block lies at the top of its own stack, so `root` is above every frame of the fiber
/// (impl::hot_words::limit). Owner: the worker that runs it; while it is suspended, the worker that took its
/// task out of a queue.
struct fiber {
    impl::frame root{};         ///< base of the chain; never exposed itself
    impl::frame* split = &root; ///< youngest exposed entry: exposed entries are the oldest ones
    impl::frame* head = &root;  ///< saved hot_words::head
    /// Of a slow worker: the youngest frame whose fork has come to slow_push(). A younger one has no number yet.
    const impl::frame* numbered = &root;
    saved_context context = nullptr;
    task* running = nullptr; ///< innermost task whose code is on this stack
    fiber* above = nullptr;  ///< the child that runs in its place; valid while there is one
    fiber* free_next = nullptr;
    int free_rank = 0;       ///< in the list of a worker: how many fibers it and those after it are
    bool is_in_pool = false; ///< guarded by the pool's lock
    fiber *all_before = nullptr, *all_next = nullptr; ///< in the pool's register of all fibers
    stack memory{};
    exception_globals exceptions{}; ///< while it is left; none while it runs
    floating_point_modes modes{};   ///< when its code was left

    int guards = 0; ///< open weft::preemption_guard objects of the code on this stack

    // Of a child in the silent zone.
    continuation parent_continuation{};
    struct {
        task record{};                     ///< its record
        std::byte bytes[max_task_bytes]{}; ///< the policy's, where task::data looks for them
    } own;
    bool has_child = false;              ///< assignment: run the child, else the scheduler
    bool child_has_started = false;      ///< it has moved its closure: the parent may be exposed
    task* first = nullptr;               ///< the task that the scheduler starts before it looks for work
    void (*child_body)(void*) = nullptr; ///< see impl::run_silently
    void* child_source = nullptr;

    sanitizer::stack_state sanitized{};

    /// A free fiber will run the scheduler next.
    void become_scheduler() noexcept {
        reset_chain();
        running = nullptr;
        has_child = false;
    }
    void reset_chain() noexcept {
        root.next = nullptr;
        split = head = &root;
        numbered = &root;
    }
};

} // namespace weft
