#include "runtime/dialect.hpp"
#include "runtime/tool_state.hpp"

#include <algorithm>
#include <array>
#include <string_view>

/// What a tool may ask, and set.
namespace weft::openmp::tool {

namespace {

extern "C" {
int omp_get_num_places();
int omp_get_place_num();
int omp_get_place_num_procs(int);
void omp_get_place_proc_ids(int, int*);
int omp_get_partition_num_places();
void omp_get_partition_place_nums(int*);
int omp_get_num_devices();
int sched_getcpu() noexcept;
}

/// Which events come each time that they happen.
set_result given(event e) noexcept {
    switch (e) {
    case event::thread_begin:
    case event::parallel_begin:
    case event::parallel_end:
    case event::task_create:
    case event::task_schedule:
    case event::implicit_task:
    case event::sync_region_wait:
    case event::sync_region:
    case event::dependences:
    case event::control_tool: return set_result::always;
    case event::reduction: return speaks_kmp() ? set_result::always : set_result::never; // gcc calls nothing
    case event::thread_end: // the tool ends before the workers
    // gcc compiles static loops, masked regions and the end of single without a call; ordered is not shown.
    case event::work:
    case event::masked:
    case event::mutex_acquire:
    case event::mutex_acquired:
    case event::mutex_released:
    case event::nest_lock:
    case event::lock_init:
    case event::lock_destroy: return set_result::sometimes;
    }
    return set_result::never;
}

int set_callback(unsigned which, callback c) noexcept {
    if (which == 0 || which > last_event) return static_cast<int>(set_result::error);
    const set_result r = given(static_cast<event>(which));
    if (r != set_result::never) callbacks[which].store(c, std::memory_order_relaxed);
    return static_cast<int>(r);
}
int get_callback(unsigned which, callback* to) noexcept {
    if (which == 0 || which > last_event) return 0;
    const callback c = callbacks[which].load(std::memory_order_relaxed);
    if (!c) return 0;
    *to = c;
    return 1;
}

data* get_thread_data() noexcept {
    thread_record* const t = known_thread();
    return t ? &t->noted : nullptr;
}

const region* region_of_caller() noexcept {
    const context* const c = known_context_of_caller();
    return c ? c->current : nullptr;
}

int get_state(std::uint64_t* wait) noexcept {
    if (wait) *wait = 0;
    const region* const r = region_of_caller();
    if (!r) return static_cast<int>(state::undefined);
    if (r->seen.waits != state::work_serial) return static_cast<int>(r->seen.waits);
    return static_cast<int>(r->in->active_level > 0 ? state::work_parallel : state::work_serial);
}

int get_parallel_info(int level, data** noted, int* size) noexcept {
    const region* const r = region_of_caller();
    team* t = r && level >= 0 ? r->in : nullptr;
    for (; t && level > 0; --level) t = t->outer;
    if (!t) return 0;
    if (noted) *noted = &t->noted;
    if (size) *size = t->size;
    return 2;
}

int get_task_info(int level, int* flags, data** task, frame** where, data** parallel, int* thread) noexcept {
    auto* r = level >= 0 ? const_cast<region*>(region_of_caller()) : nullptr;
    for (; r && level > 0; --level) r = r->parent;
    if (!r) return 0;
    if (flags) *flags = flags_of(*r);
    if (task) *task = &r->seen.noted;
    if (where) *where = &r->seen.where;
    if (parallel) *parallel = &r->in->noted;
    if (thread) *thread = r->on ? r->on->number : 0; // null: a parent has ended
    return 2;
}

std::uint64_t get_unique_id() noexcept {
    static std::atomic<std::uint64_t> given_out{0};
    return given_out.fetch_add(1, std::memory_order_relaxed) + 1; // a number, orders nothing
}

struct named_state {
    state value;
    const char* name;
};
constexpr std::array<named_state, 8> states{{
    {state::undefined, "ompt_state_undefined"},
    {state::work_serial, "ompt_state_work_serial"},
    {state::work_parallel, "ompt_state_work_parallel"},
    {state::wait_barrier_parallel, "ompt_state_wait_barrier_implicit_parallel"},
    {state::wait_barrier_workshare, "ompt_state_wait_barrier_implicit_workshare"},
    {state::wait_barrier_explicit, "ompt_state_wait_barrier_explicit"},
    {state::wait_taskwait, "ompt_state_wait_taskwait"},
    {state::wait_taskgroup, "ompt_state_wait_taskgroup"},
}};

/// The state behind `current`; the first one is `undefined`, with which the tool begins.
int enumerate_states(int current, int* next, const char** name) noexcept {
    const auto at = std::ranges::find(states, static_cast<state>(current), &named_state::value);
    if (at == states.end() || at + 1 == states.end()) return 0;
    *next = static_cast<int>((at + 1)->value);
    *name = (at + 1)->name;
    return 1;
}
/// One kind of lock; 0 is where the tool begins.
int enumerate_mutex_impls(int current, int* next, const char** name) noexcept {
    if (current != 0) return 0;
    *next = 1;
    *name = "suspend";
    return 1;
}

int get_place_proc_ids(int place, int room, int* ids) noexcept {
    if (place < 0 || place >= omp_get_num_places()) return 0;
    const int n = omp_get_place_num_procs(place);
    if (n <= room) omp_get_place_proc_ids(place, ids);
    return n;
}
int get_partition_place_nums(int room, int* places) noexcept {
    const int n = omp_get_partition_num_places();
    if (n <= room) omp_get_partition_place_nums(places);
    return n;
}
int get_num_procs() noexcept { return settings().processors; }
int get_proc_id() noexcept { return sched_getcpu(); }
int get_target_info(std::uint64_t*, std::uint64_t*, std::uint64_t*) noexcept { return 0; }
int get_task_memory(void**, std::size_t*, int) noexcept { return 0; }

struct named_function {
    const char* name;
    callback function;
};
template <class F>
callback plain(F* f) noexcept {
    return reinterpret_cast<callback>(f);
}

} // namespace

callback look_up(const char* name) noexcept {
    static const std::array<named_function, 19> all{{
        {"ompt_set_callback", plain(set_callback)},
        {"ompt_get_callback", plain(get_callback)},
        {"ompt_get_state", plain(get_state)},
        {"ompt_get_parallel_info", plain(get_parallel_info)},
        {"ompt_get_task_info", plain(get_task_info)},
        {"ompt_get_task_memory", plain(get_task_memory)},
        {"ompt_get_thread_data", plain(get_thread_data)},
        {"ompt_get_unique_id", plain(get_unique_id)},
        {"ompt_enumerate_states", plain(enumerate_states)},
        {"ompt_enumerate_mutex_impls", plain(enumerate_mutex_impls)},
        {"ompt_finalize_tool", plain(finish)},
        {"ompt_get_num_procs", plain(get_num_procs)},
        {"ompt_get_proc_id", plain(get_proc_id)},
        {"ompt_get_num_places", plain(omp_get_num_places)},
        {"ompt_get_place_num", plain(omp_get_place_num)},
        {"ompt_get_place_proc_ids", plain(get_place_proc_ids)},
        {"ompt_get_partition_place_nums", plain(get_partition_place_nums)},
        {"ompt_get_target_info", plain(get_target_info)},
        {"ompt_get_num_devices", plain(omp_get_num_devices)},
    }};
    const std::string_view wanted(name);
    for (const named_function& f : all)
        if (wanted == f.name) return f.function;
    return nullptr;
}

} // namespace weft::openmp::tool
