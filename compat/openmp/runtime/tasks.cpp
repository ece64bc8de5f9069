#include "runtime/tasks.hpp"

#include "runtime/dialect.hpp"
#include "runtime/sanitizer.hpp"
#include "runtime/team.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

/// Explicit tasks. A task is called by its creator if it may not be deferred, if no other thread could run it, or if enough
/// tasks of the creator wait already; else it is a task of Weft, which takes a seat of the team when it starts.
namespace weft::openmp {

struct block {
    block* next;
};

namespace {

/// While so many tasks of a thread have not started, it calls further ones: enough for the other threads while it runs one.
constexpr int most_queued(int threads) noexcept { return 8 + 4 * threads; }

/// Memory of most tasks: the region and a few hundred bytes of data.
constexpr std::size_t block_bytes = 640;

void* take_block(seat& s, std::size_t bytes) {
    if (bytes == block_bytes)
        if (block* const b = s.spare_blocks) {
            s.spare_blocks = b->next;
            happens_after(b);
            return b;
        }
    void* const p = std::aligned_alloc(alignof(std::max_align_t) * 4, bytes);
    if (!p) throw std::bad_alloc();
    return p;
}

std::size_t round_up(std::size_t n, std::size_t to) noexcept { return (n + to - 1) / to * to; }

/// Frees a task. The caller holds a seat, or is no thread of OpenMP (`s` is null).
void free_task(seat* s, region& t) noexcept {
    happens_after(&t);
    if (t.depends) free_dependences(t);
    const std::size_t bytes = t.block_bytes;
    t.~region();
    if (s && bytes == block_bytes) {
        auto* const b = ::new (&t) block;
        b->next = s->spare_blocks;
        s->spare_blocks = b;
    } else {
        std::free(&t);
    }
}

void drop_reference_at(seat* s, region* r) noexcept {
    while (r && !r->is_implicit) {
        region* const parent = r->parent;
        happens_before(r); // pairs with free_task() and take_block(): the data of a task of the program
        // The last one frees what the others have used. The only reference is the caller's, and no other code can add one: the load
        // pairs with the subtractions.
        if (r->references.load(std::memory_order_acquire) != 1 &&
            r->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
            return;
        free_task(s, *r);
        r = parent; // which the freed one has kept
    }
}

void keep(region& r) noexcept {
    if (!r.is_implicit)
        r.references.fetch_add(1, std::memory_order_relaxed); // the caller's own reference is there
}

/// The body has ended, and the event has occurred: what waits for the task goes on. The caller has a seat, unless the event
/// comes from outside.
void complete(region& t) {
    if (t.number) release_successors(t);
    if (!t.is_counted) return;
    region& parent = *t.parent;
    const void* const children = &parent.children;
    task_group* const group = t.group;
    // release: pairs with the loads in the waits. From here on the parent is kept by `t` alone.
    if (parent.children.fetch_sub(1, std::memory_order_acq_rel) == 1) wake_all(children);
    if (group) {
        const void* const open = &group->open;
        happens_before(open); // of groups that a tool does not see: those of reductions of a construct
        if (group->open.fetch_sub(1, std::memory_order_acq_rel) == 1)
            wake_all(open); // likewise; the group may be gone
    }
}

/// How the body has ended, for a tool.
tool::task_status note_status(region& t) noexcept {
    t.seen.is_detached = t.event.load(std::memory_order_relaxed) == region::event_open;
    return t.seen.is_detached ? tool::task_status::detach : tool::task_status::complete;
}

/// The caller goes on behind a task that it has called.
void show_end_of_called(region& me, region& t) noexcept { tool::task_ends(*t.on, t, note_status(t), me); }

[[gnu::noinline, gnu::cold]] void call_seen(region& me, region& t) {
    tool::switch_to(*t.on, t);
    t.code(t.data);
    show_end_of_called(me, t);
}

/// Calls the task on the stack and the seat of the caller.
void call(region& me, region& t) {
    context& c = *context_of_caller();
    t.on = me.on;
    c.current = &t;
    if (tool::is_on()) [[unlikely]]
        call_seen(me, t);
    else
        t.code(t.data);
    c.current = &me; // of this stack, on whatever thread it runs now
}

/// True if the body's end is the task's end: it has no event that is still to come.
bool ends_with_body(region& t) noexcept {
    if (t.event.load(std::memory_order_relaxed) == region::no_event)
        return true; // set before the task was submitted
    // acq_rel: pairs with the exchange in fulfill(): the second of the two ends the task
    if (t.event.exchange(region::body_ended, std::memory_order_acq_rel) != region::fulfilled) return false;
    if (tool::is_on() && t.seen.is_detached) [[unlikely]]
        tool::is_fulfilled(t, tool::task_status::late_fulfill); // just now
    return true;
}

/// The body of the task of Weft.
void run_started(launch& l) noexcept {
    region* t = l.of;
    seat* s = t->assigned ? t->assigned : take_seat(*t);
    if (t->assigned) happens_after(s); // another thread has taken it
    if (!s) return;                    // it starts when there is a seat
    context own;
    set_context_of_task(own);
    enter_context(&own);
    while (t) {
        team& in = *t->in;
        t->creator->queued.fetch_sub(1, std::memory_order_relaxed);
        own.current = t;
        t->on = s;
        const bool is_discarded = discards_tasks(*t);
        if (tool::is_on()) [[unlikely]]
            tool::switch_to(*s, *t);
        if (t->has_copies || !is_discarded) t->code(t->data);
        if (tool::is_on()) [[unlikely]]
            tool::task_ends(*s, *t, is_discarded ? tool::task_status::cancel : note_status(*t),
                            tool::waiting_on(*s));
        // The seat is given before the task is counted down: the end of the barrier finds all seats free.
        region* next = nullptr;
        const bool ends = ends_with_body(*t);
        if (ends) {
            complete(*t);
            drop_reference_at(s, t);
        }
        next = give_seat(*s);
        if (ends) in.count_down();
        t = next;
    }
    enter_context(nullptr);
}

bool has_free_seat(const team& t) noexcept {
    for (int i = 0; i < t.size; ++i)
        if (!t.seats[static_cast<std::size_t>(i)].is_taken.load(std::memory_order_relaxed))
            return true; // a hint
    return false;
}

/// As long as every thread of the team is busy, only a few tasks are queued for the one that is free first.
bool is_called(const region& me, const task_request& r) noexcept {
    if (!r.is_deferrable || me.is_final) return true;
    const team& t = *me.in;
    if (t.size == 1) return true;
    if (r.is_detached) return false;
    const int queued = me.on->queued.load(std::memory_order_relaxed);
    if (queued < t.size) return false;
    // libomp queues those with dependences as long as there is room, and debuggers look at the graph
    const bool is_enough =
        queued >= most_queued(t.size) || (!(r.depends && speaks_kmp()) && !has_free_seat(t));
    return is_enough && settings().throttles_tasks;
}

} // namespace

region& make_task(region& me, const task_request& r, bool copies) {
    const std::size_t alignment = std::max(r.alignment, alignof(std::max_align_t));
    const std::size_t data_at = round_up(sizeof(region), alignof(std::max_align_t));
    std::size_t bytes = data_at + (copies ? r.bytes + (alignment - alignof(std::max_align_t)) : 0);
    bytes = bytes <= block_bytes ? block_bytes : round_up(bytes, alignof(std::max_align_t) * 4);
    void* const p = take_block(*me.on, bytes);
    auto* const t = ::new (p) region;
    t->block_bytes = bytes;
    t->in = me.in;
    t->parent = &me;
    t->depth = me.is_implicit ? 1 : me.depth + 1;
    t->is_implicit = false;
    t->is_final = r.is_final || me.is_final;
    t->group = me.group;
    t->icv = me.icv;
    t->code = r.code;
    t->outlined = r.outlined ? r.outlined : trace::address_of(r.code);
    t->priority = r.priority;
    t->creator = me.on;
    t->start.of = t;
    t->start.run = run_started;
    const auto at = round_up(reinterpret_cast<std::uintptr_t>(p) + data_at, alignment);
    t->data = copies ? reinterpret_cast<void*>(at) : r.data;
    t->has_copies = r.copy != nullptr;
    if (r.copy)
        r.copy(t->data, r.data);
    else if (copies && r.bytes && r.data)
        std::memcpy(t->data, r.data, r.bytes);
    if (tool::is_on()) [[unlikely]]
        tool::begin_view(*t);
    keep(me);
    return *t;
}

void* event_of(region& task) noexcept {
    task.event.store(region::event_open, std::memory_order_relaxed); // before the task is submitted
    return &task;
}

void start_task(region& task) { start_anywhere(task.start, task.priority); }

namespace {

/// The task counts for the waits for it, before it exists for others.
void count(region& me, region& task) noexcept {
    task.is_counted = true;
    me.children.fetch_add(1, std::memory_order_relaxed);
    if (me.group) me.group->open.fetch_add(1, std::memory_order_relaxed);
    me.in->count_task();
}

/// A counted task that its creator has called.
void end_called(region& me, region& task) {
    team& in = *me.in;
    complete(task);
    drop_reference_at(me.on, &task);
    in.count_down(); // the creator has not arrived at the barrier, so this is not the last one
}

} // namespace

void begin_undeferred(region& me, region& task) {
    if (task.event.load(std::memory_order_relaxed) != region::no_event) { // set before the task was submitted
        count(me, task);
        keep(task);
    }
    task.on = me.on;
    context_of_caller()->current = &task;
    if (tool::is_on()) [[unlikely]]
        tool::switch_to(*me.on, task);
}

void end_undeferred(region& task) {
    region& me = *task.parent;
    if (tool::is_on()) [[unlikely]]
        show_end_of_called(me, task);
    context_of_caller()->current = &me;
    if (!task.is_counted) return drop_reference_at(me.on, &task);
    if (ends_with_body(task))
        end_called(me, task);
    else
        wait_for_tasks(me, &task.event, [&] {
            return task.event.load(std::memory_order_acquire) == region::fulfilled; // pairs with fulfill()
        });
    drop_reference_at(me.on, &task);
}

namespace {

/// The construct is over when the task is.
void call_and_wait(region& me, region& task, const task_request& r) {
    if (r.depends) wait_for_dependences(me, *r.depends);
    begin_undeferred(me, task);
    task.code(task.data);
    end_undeferred(task);
}

/// `calls`: decided once, since a task that is called may use the data of its creator. Others may be queued meanwhile.
void submit(region& me, region& task, const task_request& r, bool calls) {
    if (tool::is_on()) [[unlikely]]
        tool::task_is_created(task, r.is_deferrable ? 0 : tool::task_undeferred, r.depends, r.from);
    if (!r.is_deferrable || me.is_final) return call_and_wait(me, task, r);
    if (calls && !r.depends && !r.is_detached) {
        call(me, task);
        return drop_reference_at(me.on, &task);
    }
    count(me, task);
    me.on->queued.fetch_add(1, std::memory_order_relaxed);
    if (r.depends && !add_dependences(me, task, *r.depends)) return; // its last predecessor starts it
    if (!calls) return start_task(task);
    me.on->queued.fetch_sub(1, std::memory_order_relaxed);
    call(me, task);
    if (ends_with_body(task)) end_called(me, task); // else its event ends it
}

} // namespace

void submit_task(region& me, region& task, const task_request& r) { submit(me, task, r, is_called(me, r)); }

void run_task(region& me, const task_request& r) {
    if (discards_tasks(me)) return;
    const bool calls = is_called(me, r);
    const bool needs_copy = r.copy || r.depends || !calls;
    region& task = make_task(me, r, needs_copy);
    submit(me, task, r, calls);
}

void fulfill(void* event) {
    region& t = *static_cast<region*>(event);
    team& in = *t.in;
    const void* const address = &t.event;
    // acq_rel: pairs with the exchange in ends_with_body()
    const int before = t.event.exchange(region::fulfilled, std::memory_order_acq_rel);
    if (before == region::body_ended) {
        if (tool::is_on()) [[unlikely]]
            tool::is_fulfilled(t, tool::task_status::late_fulfill);
        complete(t);
        drop_reference_at(nullptr, &t);
        wake_all(address);
        in.count_down();
    }
}

void wait_for_children(region& me, const void* from) {
    const tool::sync_scope seen(me, tool::sync::taskwait, from);
    wait_for_tasks(me, &me.children, [&] {
        return me.children.load(std::memory_order_acquire) == 0; // pairs with the subtraction in complete()
    });
}

void begin_group(region& me, bool of_work_share, const void* from) {
    if (tool::is_on() && !of_work_share) [[unlikely]]
        tool::sync_begins(me, tool::sync::taskgroup, from);
    auto* const g = new task_group;
    g->outer = me.group;
    g->is_work_share = of_work_share;
    if (g->outer) g->reductions = g->outer->reductions;
    me.group = g;
}

void end_group(region& me, const void* from) {
    task_group* const g = me.group;
    if (!g) return; // without its beginning, as libgomp allows in a region that was cancelled
    const bool is_seen = tool::is_on() && !g->is_work_share;
    if (is_seen) [[unlikely]]
        tool::wait_begins(me, tool::sync::taskgroup, from);
    wait_for_tasks(me, &g->open, [&] {
        return g->open.load(std::memory_order_acquire) == 0; // pairs with the subtraction in complete()
    });
    happens_after(&g->open);
    me.group = g->outer;
    delete g;
    if (is_seen) [[unlikely]] {
        tool::wait_ends(me, tool::sync::taskgroup, from);
        tool::sync_ends(me, tool::sync::taskgroup, from);
    }
}

bool discards_tasks(const region& me) noexcept {
    if (me.in->is_cancelled.load(std::memory_order_relaxed)) return true;
    const task_group* g = me.group;
    while (g && g->is_work_share) g = g->outer;
    return g && g->is_cancelled.load(std::memory_order_relaxed);
}

void drop_reference(region& r) noexcept { drop_reference_at(nullptr, &r); }

void free_spare_blocks(seat& s) noexcept {
    while (block* const b = s.spare_blocks) {
        s.spare_blocks = b->next;
        std::free(b);
    }
}

} // namespace weft::openmp
