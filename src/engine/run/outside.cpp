#include "engine/run/outside.hpp"

#include "engine/run/cancellation.hpp"
#include "engine/run/spawn.hpp"
#include "engine/run/tasks.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "engine/worker/task_record.hpp"
#include "task/task.hpp"

#include <weft/impl/entry.hpp>
#include <weft/task_group.hpp>

#include <exception>

namespace weft::engine {

namespace {

using added = outside_children<task>;

void drop(task& t) noexcept {
    if (t.drop_) t.drop_(t.closure_);
    const impl::tick_hold here; // the blocks are the worker's
    free_task(impl::hot_self(), t);
}

/// The closure of an adder: spawns what threads outside have added to the group, and waits for it.
void spawn_children(void* of) {
    auto& g = *static_cast<group*>(of);
    group own; // a group of the adder, because a thread that is no worker waits for `g`
    own.around_ = &g;
    own.hint_ = g.hint_;
    while (task* t = added::take(g.outside_))
        while (t) {
            task* const after = added::next(*t);
            try {
                spawn_record(own, *t);
            } catch (...) { fail(own, std::current_exception()); }
            t = after;
        }
    impl::wait_group(own);
}

/// The group was cancelled before its adder began.
void drop_children(void* of) noexcept {
    auto& g = *static_cast<group*>(of);
    while (task* t = added::take(g.outside_))
        while (t) {
            task* const after = added::next(*t);
            drop(*t);
            t = after;
        }
}

} // namespace

void add_from_outside(engine& e, group& g, task& child) {
    const auto make = [&]() -> task* { return &make_task(nullptr, e, 0, 1); };
    // Made before the child is added, since making it may fail. If the other adder ends in between, this
    // adder is made after the child was added, and a failure can no longer be reported.
    task* adder = g.outside_.load(std::memory_order_relaxed) == added::none ? make() : nullptr;
    if (!added::add(g.outside_, child)) {
        if (adder) free_task(nullptr, *adder);
        return;
    }
    if (!adder) adder = [&]() noexcept { return make(); }();
    adder->call_ = spawn_children;
    adder->drop_ = drop_children;
    adder->closure_ = &g;
    adopt(*adder, nullptr, &g, {});
    g.flags_.fetch_or(group::flag_outside, std::memory_order_relaxed);
    g.open_.fetch_add(1, std::memory_order_relaxed); // the spawner's own 1 keeps it above 0 (G1)
    submit_root(e, *adder, 0);
}

} // namespace weft::engine
