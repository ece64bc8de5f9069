#include "runtime/tasks.hpp"
#include "runtime/tool_state.hpp"

#include <mutex>
#include <vector>

/// The events of a tool.
namespace weft::openmp::tool {

namespace {

state waiting_state(sync kind) noexcept {
    switch (kind) {
    case sync::barrier_explicit: return state::wait_barrier_explicit;
    case sync::taskwait: return state::wait_taskwait;
    case sync::taskgroup: return state::wait_taskgroup;
    case sync::reduction: break; // no wait
    case sync::barrier_workshare: return state::wait_barrier_workshare;
    case sync::barrier_parallel: return state::wait_barrier_parallel;
    }
    return state::work_parallel;
}
region& shown_on(seat& s) noexcept { return s.shown ? *s.shown : s.implicit; }

void send_sync(event e, sync kind, endpoint at, region& r, const void* from) noexcept {
    send(e, static_cast<int>(kind), static_cast<int>(at), &r.in->noted, noted_of(&r), from);
}

} // namespace

void begin_view(region& r) noexcept { r.seen = {}; }

// ---- regions

namespace {

void begin_initial(region& r) noexcept {
    begin_view(r);
    r.in->noted = {};
    r.on->shown = &r;
    r.on->works_on = work::none;
    send(event::implicit_task, static_cast<int>(endpoint::begin), &r.in->noted, noted_of(&r), 1U, 1U,
         task_initial);
}
} // namespace

void initial_task_begins(region& r) noexcept {
    this_thread().initial = &r;
    begin_initial(r);
}
void team_task_begins(region& r) noexcept {
    static_cast<void>(this_thread());
    begin_initial(r);
}
void team_task_ends(region& r) noexcept {
    work_ends(r, nullptr);
    send(event::implicit_task, static_cast<int>(endpoint::end), static_cast<data*>(nullptr), noted_of(&r), 0U,
         1U, task_initial);
}

void parallel_begins(team& t, const void* from) noexcept {
    static_cast<void>(this_thread());
    t.noted = {};
    t.is_by_program = t.code == nullptr;
    t.unseen.store(t.size, std::memory_order_relaxed); // before the threads start
    for (int i = 0; i < t.size; ++i) {
        seat& s = t.seats[static_cast<std::size_t>(i)];
        begin_view(s.implicit);
        s.shown = &s.implicit;
        s.works_on = work::none;
    }
    send(event::parallel_begin, noted_of(t.around), static_cast<const frame*>(&t.around->seen.where),
         &t.noted, static_cast<unsigned>(t.size),
         parallel_team | (t.is_by_program ? invoked_by_program : invoked_by_library), from);
}

void parallel_ends(team& t, const void* from) noexcept {
    send(event::parallel_end, &t.noted, noted_of(t.around),
         parallel_team | (t.is_by_program ? invoked_by_program : invoked_by_library), from);
}

void implicit_task_begins(region& r) noexcept {
    static_cast<void>(this_thread());
    send(event::implicit_task, static_cast<int>(endpoint::begin), &r.in->noted, noted_of(&r),
         static_cast<unsigned>(r.in->size), static_cast<unsigned>(r.on->number), task_implicit);
}

void implicit_task_ends(region& r) noexcept {
    send(event::implicit_task, static_cast<int>(endpoint::end), static_cast<data*>(nullptr), noted_of(&r), 0U,
         static_cast<unsigned>(r.on->number), task_implicit);
}

// ---- tasks

void task_is_created(region& task, int flags, const std::vector<dependence>* depends,
                     const void* from) noexcept {
    region& parent = *task.parent;
    send(event::task_create, noted_of(&parent), static_cast<const frame*>(&parent.seen.where),
         noted_of(&task), flags_of(task) | flags, static_cast<int>(depends != nullptr), from);
    if (!depends) return;
    // The numbers of the standard, by dependence::kind.
    constexpr std::array<int, 7> kinds{0, 1, 2, 3, 4, 7, 35};
    std::vector<dependence_entry> list;
    for (const dependence& d : *depends)
        list.push_back({{.ptr = const_cast<void*>(d.address)}, kinds[static_cast<std::size_t>(d.how)]});
    send(event::dependences, noted_of(&task), static_cast<const dependence_entry*>(list.data()),
         static_cast<int>(list.size()));
}

void switch_to(seat& s, region& next) noexcept {
    region& before = shown_on(s);
    if (&before == &next) return;
    static_cast<void>(this_thread());
    s.shown = &next;
    send(event::task_schedule, noted_of(&before), static_cast<int>(task_status::switched), noted_of(&next));
}

region& waiting_on(seat& s) noexcept {
    const std::lock_guard guard(s.lock);
    return s.lenders ? *s.lenders->who : s.implicit;
}

void task_ends(seat& s, region& task, task_status how, region& next) noexcept {
    s.shown = &next;
    send(event::task_schedule, noted_of(&task), static_cast<int>(how), noted_of(&next));
}

void is_fulfilled(region& task, task_status how) noexcept {
    send(event::task_schedule, noted_of(&task), static_cast<int>(how), static_cast<data*>(nullptr));
}

// ---- waits, work, locks

void sync_begins(region& r, sync kind, const void* from) noexcept {
    static_cast<void>(this_thread());
    send_sync(event::sync_region, kind, endpoint::begin, r, from);
}
void sync_ends(region& r, sync kind, const void* from) noexcept {
    send_sync(event::sync_region, kind, endpoint::end, r, from);
}
void wait_begins(region& r, sync kind, const void* from) noexcept {
    r.seen.waits = waiting_state(kind);
    send_sync(event::sync_region_wait, kind, endpoint::begin, r, from);
}
void wait_ends(region& r, sync kind, const void* from) noexcept {
    send_sync(event::sync_region_wait, kind, endpoint::end, r, from);
    r.seen.waits = state::work_serial;
}

void reduction(region& r, endpoint at, const void* from) noexcept {
    send_sync(event::reduction, sync::reduction, at, r, from);
}

void work_begins(region& r, work kind, std::uint64_t count, const void* from) noexcept {
    work_ends(r, from);
    const auto type = static_cast<int>(kind);
    send(event::work, type, static_cast<int>(endpoint::begin), &r.in->noted, noted_of(&r), count, from);
    if (kind == work::single_other)
        send(event::work, type, static_cast<int>(endpoint::end), &r.in->noted, noted_of(&r), count, from);
    else
        r.on->works_on = kind;
}
void work_ends(region& r, const void* from) noexcept {
    seat& s = *r.on;
    if (!r.is_implicit || s.works_on == work::none) return;
    send(event::work, static_cast<int>(s.works_on), static_cast<int>(endpoint::end), &r.in->noted,
         noted_of(&r), std::uint64_t{0}, from);
    s.works_on = work::none;
}

void masked(region& r, endpoint at, const void* from) noexcept {
    send(event::masked, static_cast<int>(at), &r.in->noted, noted_of(&r), from);
}

void mutex_event(event e, mutex kind, const void* lock, const void* from) noexcept {
    const auto id = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(lock));
    if (e == event::mutex_acquire || e == event::lock_init)
        send(e, static_cast<int>(kind), 0U, 0U, id, from);
    else
        send(e, static_cast<int>(kind), id, from);
}

void nest_lock_again(endpoint at, const void* lock, const void* from) noexcept {
    send(event::nest_lock, static_cast<int>(at),
         static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(lock)), from);
}

int control(std::uint64_t command, std::uint64_t modifier, void* argument, const void* from) noexcept {
    if (!is_on()) return -2;
    const callback c = callbacks[static_cast<unsigned>(event::control_tool)].load(std::memory_order_relaxed);
    if (!c) return -1;
    const weft::impl::tick_hold here;
    return reinterpret_cast<int (*)(std::uint64_t, std::uint64_t, void*, const void*)>(c)(command, modifier,
                                                                                          argument, from);
}

} // namespace weft::openmp::tool
