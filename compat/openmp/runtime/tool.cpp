#include "runtime/tool.hpp"

#include "runtime/dialect.hpp"
#include "runtime/environment.hpp"
#include "runtime/initial.hpp"
#include "runtime/tasks.hpp"
#include "runtime/team.hpp"

#include <weft/impl/hot.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <pthread.h>

/// The tool: how it is found, what it has asked for, and the events that it gets.
namespace weft::openmp::tool {

constinit std::atomic<bool> active{false};

namespace {

/// Of the process. A callback is set at any time; relaxed: each call is one look.
constinit std::array<std::atomic<callback>, last_event + 1> callbacks{};
constinit start_result* started = nullptr;
constinit std::atomic<bool> has_finished{false};

/// A kernel thread that has run code of OpenMP.
struct thread_record {
    data noted{};
    region* initial = nullptr; ///< of an initial thread, until that has ended
};
[[gnu::tls_model("initial-exec")]] thread_local constinit thread_record* of_this_thread = nullptr;

/// Those that have begun and not ended.
struct known_threads {
    std::mutex lock;
    std::set<thread_record*> all;
};
known_threads& threads() {
    static auto* const t = new known_threads; // threads end after destructors of static objects, too
    return *t;
}

/// Calls what the tool has set for the event, if anything. No tick acts meanwhile: a tool expects to stay on its kernel thread.
template <class... Arguments>
void send(event e, Arguments... arguments) noexcept {
    const callback c = callbacks[static_cast<unsigned>(e)].load(std::memory_order_relaxed);
    if (!c || !is_on()) return;
    const weft::impl::tick_hold here;
    reinterpret_cast<void (*)(Arguments...)>(c)(arguments...);
}

data* noted_of(region* r) noexcept { return r ? &r->seen.noted : nullptr; }

void end_initial(region& r) noexcept {
    work_ends(r, nullptr);
    send(event::implicit_task, static_cast<int>(endpoint::end), static_cast<data*>(nullptr), noted_of(&r), 0U,
         1U, task_initial);
}

void end_thread(thread_record& t) noexcept {
    if (region* const r = std::exchange(t.initial, nullptr)) end_initial(*r);
    send(event::thread_end, &t.noted);
}

pthread_key_t make_thread_key() noexcept {
    pthread_key_t key{};
    pthread_key_create(&key, [](void* at) {
        auto* const t = static_cast<thread_record*>(at);
        of_this_thread = nullptr;
        {
            known_threads& known = threads();
            const std::lock_guard guard(known.lock);
            if (known.all.erase(t) == 0) return; // the tool has seen its end
        }
        end_thread(*t);
        delete t;
    });
    return key;
}

/// With the first use on a kernel thread, it begins for the tool.
[[gnu::noinline]] thread_record& this_thread() noexcept {
    if (of_this_thread) return *of_this_thread;
    static const pthread_key_t key = make_thread_key();
    auto* const t = new thread_record;
    of_this_thread = t;
    pthread_setspecific(key, t);
    {
        known_threads& known = threads();
        const std::lock_guard guard(known.lock);
        known.all.insert(t);
    }
    const auto type = weft::impl::hot_self() ? thread_type::worker : thread_type::initial;
    send(event::thread_begin, static_cast<int>(type), &t->noted);
    return *t;
}

state waiting_state(sync kind) noexcept {
    switch (kind) {
    case sync::barrier_explicit: return state::wait_barrier_explicit;
    case sync::taskwait: return state::wait_taskwait;
    case sync::taskgroup: return state::wait_taskgroup;
    case sync::barrier_workshare: return state::wait_barrier_workshare;
    case sync::barrier_parallel: return state::wait_barrier_parallel;
    }
    return state::work_parallel;
}

int flags_of(const region& r) noexcept {
    if (!r.is_implicit) return task_explicit | (r.is_final ? task_final : 0);
    return r.parent ? task_implicit : task_initial;
}

region& shown_on(seat& s) noexcept { return s.shown ? *s.shown : s.implicit; }

void send_sync(event e, sync kind, endpoint at, region& r, const void* from) noexcept {
    send(e, static_cast<int>(kind), static_cast<int>(at), &r.in->noted, noted_of(&r), from);
}

// ---- how a tool is found

/// OMP_TOOL_VERBOSE_INIT: where the lines go; null: nowhere.
std::FILE* verbose_output() {
    const auto v = variable("OMP_TOOL_VERBOSE_INIT");
    if (!v || lower(*v) == "disabled") return nullptr;
    if (lower(*v) == "stdout") return stdout;
    if (lower(*v) == "stderr") return stderr;
    std::FILE* const f = std::fopen(v->c_str(), "w"); // of the process, to its end
    if (!f)
        refuse("OMP_TOOL_VERBOSE_INIT", *v,
               "disabled, stdout, stderr, or the name of a file that can be written");
    return f;
}

struct search {
    std::FILE* out;
    void say(const std::string& text) const {
        if (!out) return;
        std::fprintf(out, "weft: OMPT: %s\n", text.c_str());
        std::fflush(out);
    }
    start_result* ask(void* function) const {
        // The version of OpenMP that the events are of, and a name for people.
        constexpr unsigned version = 202011;
        return reinterpret_cast<start_result* (*)(unsigned, const char*)>(function)(version,
                                                                                    "Weft " WEFT_VERSION);
    }
    start_result* in_process() const {
        void* const f = dlsym(RTLD_DEFAULT, "ompt_start_tool");
        if (!f) {
            say("no ompt_start_tool in the program and its libraries");
            return nullptr;
        }
        start_result* const r = ask(f);
        say(r ? "the program's ompt_start_tool answers" : "the program's ompt_start_tool declines");
        return r;
    }
    start_result* in_library(const std::string& name) const {
        void* const library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
        if (!library) {
            const char* const why = dlerror();
            say(name + ": cannot be loaded: " + (why ? why : "no reason is known"));
            return nullptr;
        }
        void* const f = dlsym(library, "ompt_start_tool");
        start_result* const r = f ? ask(f) : nullptr;
        say(name + (r   ? ": its ompt_start_tool answers"
                    : f ? ": its ompt_start_tool declines"
                        : ": no ompt_start_tool"));
        if (!r) dlclose(library);
        return r;
    }
    start_result* in_libraries() const {
        const std::string list = variable("OMP_TOOL_LIBRARIES").value_or("");
        for (std::size_t at = 0; at < list.size();) {
            const std::size_t end = std::min(list.find(':', at), list.size());
            if (end > at)
                if (start_result* const r = in_library(list.substr(at, end - at))) return r;
            at = end + 1;
        }
        return nullptr;
    }
};

bool is_allowed() {
    const auto v = variable("OMP_TOOL");
    if (!v || v->empty() || lower(*v) == "enabled") return true;
    if (lower(*v) == "disabled") return false;
    refuse("OMP_TOOL", *v, "enabled or disabled");
    return true;
}

callback look_up(const char* name) noexcept;

void start() {
    const search s{verbose_output()};
    if (!is_allowed()) return s.say("OMP_TOOL is disabled: no tool is looked for");
    start_result* r = s.in_process();
    if (!r) r = s.in_libraries();
    if (!r) return s.say("there is no tool");
    if (!r->initialize) return s.say("the tool has no function to initialize it");
    if (r->initialize(look_up, 0, &r->of_tool) == 0) return s.say("the tool does not want to run");
    started = r;
    active.store(true, std::memory_order_relaxed); // T1
    std::atexit([] { finish(); });
    s.say("the tool runs");
}

} // namespace

void start_once() {
    static std::once_flag once;
    static thread_local bool is_starting = false;
    if (is_starting) return; // the tool calls OpenMP
    is_starting = true;
    std::call_once(once, start);
    is_starting = false;
}

void finish() noexcept {
    if (!is_on() || has_finished.exchange(true, std::memory_order_relaxed)) return; // one of the callers
    std::set<thread_record*> all; // the records stay: their threads may run on
    {
        known_threads& known = threads();
        const std::lock_guard guard(known.lock);
        all.swap(known.all);
    }
    for (thread_record* const t : all)
        if (t != of_this_thread) end_thread(*t);
    if (all.contains(of_this_thread)) end_thread(*of_this_thread);
    active.store(false, std::memory_order_relaxed);
    if (started->finalize) started->finalize(&started->of_tool);
}

void begin_view(region& r) noexcept { r.seen = {}; }

// ---- threads and regions

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
void initial_task_ends(region& r) noexcept {
    // If the thread has ended for the tool already, so has the task.
    if (!of_this_thread || of_this_thread->initial != &r) return;
    of_this_thread->initial = nullptr;
    end_initial(r);
}
void team_task_begins(region& r) noexcept {
    static_cast<void>(this_thread());
    begin_initial(r);
}
void team_task_ends(region& r) noexcept { end_initial(r); }

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

// ---- what a tool may ask

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
    case event::thread_end:
    case event::parallel_begin:
    case event::parallel_end:
    case event::task_create:
    case event::task_schedule:
    case event::implicit_task:
    case event::sync_region_wait:
    case event::sync_region:
    case event::dependences:
    case event::control_tool: return set_result::always;
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

data* get_thread_data() noexcept { return of_this_thread ? &of_this_thread->noted : nullptr; }

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

} // namespace

} // namespace weft::openmp::tool
