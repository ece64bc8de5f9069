/// An OMPT tool that checks the events of a program: each beginning has its end, in the right order, and data that it notes are there again. It knows
/// nothing of Weft; <omp-tools.h> is the compiler's. At the end it prints counts, and "wrong: ..." for each event that breaks a rule.
///
///     OMPT_PAIRING_REFUSE=1   it declines to run
#include <omp-tools.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {

/// What the tool notes about a task: where it is in its life.
struct task {
    int flags = 0;
    bool has_ended = false;
    bool is_detached = false;
    bool runs = false;
    std::uint64_t id = 0;
    std::vector<std::string> open; // regions that have begun and not ended, the innermost last
};
struct region {
    std::uint64_t id = 0;
    bool has_ended = false;
    unsigned begun = 0, ended = 0, size = 0;
};

// One lock for everything: the tool checks, it does not measure.
std::mutex lock;
std::map<std::string, long> counts;
std::set<std::string> wrong;
std::map<ompt_data_t*, ompt_thread_t> threads;
std::map<ompt_wait_id_t, int> held;
ompt_get_unique_id_t unique_id;
ompt_get_task_info_t task_info;
ompt_get_parallel_info_t parallel_info;
ompt_get_thread_data_t thread_data;
ompt_get_state_t get_state;
ompt_finalize_tool_t finalize_tool;

void check(bool holds, const std::string& what) {
    if (!holds) wrong.insert(what);
}
task* of(ompt_data_t* d, const char* where) {
    check(d && d->ptr, std::string(where) + ": a task that was never created");
    return d && d->ptr ? static_cast<task*>(d->ptr) : nullptr;
}
region* region_of(ompt_data_t* d, const char* where) {
    check(d && d->ptr, std::string(where) + ": a parallel region that has not begun");
    return d && d->ptr ? static_cast<region*>(d->ptr) : nullptr;
}
task* make(int flags) {
    auto* const t = new task; // kept to the end, so that an event after the task's end is noticed
    t->flags = flags;
    t->id = unique_id();
    return t;
}
void open(task* t, const std::string& what) {
    if (t) t->open.push_back(what);
}
void close(task* t, const std::string& what) {
    if (!t) return;
    check(!t->open.empty() && t->open.back() == what,
          what + ": ends, but the innermost is " + (t->open.empty() ? "none" : t->open.back()));
    if (!t->open.empty()) t->open.pop_back();
}
/// The library, asked, says the same as the event.
void check_current(const task* t, const char* where) {
    ompt_data_t* noted = nullptr;
    int flags = 0;
    const int answer = task_info(0, &flags, &noted, nullptr, nullptr, nullptr);
    check(answer == 2 && noted && noted->ptr == t,
          std::string(where) + ": ompt_get_task_info() names another task");
    check(thread_data() && threads.count(thread_data()),
          std::string(where) + ": a thread that has not begun");
}

thread_local ompt_data_t* this_thread = nullptr;

void on_thread_begin(ompt_thread_t type, ompt_data_t* d) {
    const std::lock_guard guard(lock);
    check(threads.try_emplace(d, type).second, "thread_begin: twice");
    check(!this_thread, "thread_begin: of a thread that has begun");
    this_thread = d;
    d->value = unique_id();
    ++counts[type == ompt_thread_worker ? "worker_thread" : "thread_begin"];
}
void on_thread_end(ompt_data_t* d) {
    const std::lock_guard guard(lock);
    const auto at = threads.find(d);
    if (at == threads.end()) return check(false, "thread_end: of a thread that has not begun");
    check(this_thread == d && d->value != 0, "thread_end: of another thread");
    if (at->second != ompt_thread_worker) ++counts["thread_end"]; // workers may end behind the tool
    threads.erase(at);
}
void on_parallel_begin(ompt_data_t* encountering, const ompt_frame_t*, ompt_data_t* d, unsigned requested,
                       int flags, const void* from) {
    const std::lock_guard guard(lock);
    of(encountering, "parallel_begin");
    check(d->ptr == nullptr, "parallel_begin: the data are not empty");
    check(flags & ompt_parallel_team, "parallel_begin: not a team");
    check(from != nullptr, "parallel_begin: no address of the caller");
    check(requested >= 1, "parallel_begin: without threads");
    auto* const r = new region;
    r->id = unique_id();
    d->ptr = r;
    ++counts["parallel_begin"];
}
void on_parallel_end(ompt_data_t* d, ompt_data_t* encountering, int, const void*) {
    const std::lock_guard guard(lock);
    of(encountering, "parallel_end");
    if (region* const r = region_of(d, "parallel_end")) {
        check(!r->has_ended, "parallel_end: twice");
        check(r->begun == r->ended && r->begun == r->size, "parallel_end: implicit tasks have not ended");
        r->has_ended = true;
    }
    ++counts["parallel_end"];
}
void on_implicit_task(ompt_scope_endpoint_t at, ompt_data_t* parallel, ompt_data_t* d, unsigned size,
                      unsigned index, int flags) {
    const std::lock_guard guard(lock);
    const bool is_initial = flags & ompt_task_initial;
    ++counts[std::string(is_initial ? "initial_task" : "implicit_task") +
             (at == ompt_scope_begin ? "_begin" : "_end")];
    if (at == ompt_scope_begin) {
        check(d->ptr == nullptr, "implicit_task: the data are not empty");
        task* const t = make(flags);
        t->runs = true;
        d->ptr = t;
        if (is_initial) return;
        check(index < size, "implicit_task: index beyond the team");
        if (region* const r = region_of(parallel, "implicit_task")) {
            check(!r->has_ended, "implicit_task: begins after the region");
            ++r->begun;
            r->size = size;
        }
        check_current(t, "implicit_task");
        ompt_data_t* asked = nullptr;
        int asked_size = 0;
        check(parallel_info(0, &asked, &asked_size) == 2 && asked == parallel &&
                  asked_size == static_cast<int>(size),
              "implicit_task: ompt_get_parallel_info() names another region");
        return;
    }
    task* const t = of(d, "implicit_task end");
    if (!t) return;
    check(!t->has_ended, "implicit_task: ends twice");
    check(t->open.empty(), "implicit_task: ends inside of " + (t->open.empty() ? "" : t->open.back()));
    t->has_ended = true;
    if (is_initial) return;
    ompt_data_t* asked = nullptr;
    if (parallel_info(0, &asked, nullptr) == 2 && asked->ptr) ++static_cast<region*>(asked->ptr)->ended;
}
void on_task_create(ompt_data_t* encountering, const ompt_frame_t*, ompt_data_t* d, int flags, int,
                    const void*) {
    const std::lock_guard guard(lock);
    of(encountering, "task_create");
    check(flags & ompt_task_explicit, "task_create: not explicit");
    check(d->ptr == nullptr, "task_create: the data are not empty");
    d->ptr = make(flags);
    ++counts["task_create"];
}
void on_task_schedule(ompt_data_t* before, ompt_task_status_t how, ompt_data_t* next) {
    const std::lock_guard guard(lock);
    task* const b = of(before, "task_schedule, before");
    ++counts[how == ompt_task_switch     ? "task_switch"
             : how == ompt_task_complete ? "task_complete"
                                         : "task_other"];
    if (b) {
        check(!b->has_ended, "task_schedule: from a task that has ended");
        if (how == ompt_task_complete || how == ompt_task_cancel || how == ompt_task_late_fulfill) {
            check((b->flags & ompt_task_explicit) && b->open.empty(),
                  "task_schedule: a task ends inside of a region");
            b->has_ended = true;
        }
        if (how == ompt_task_detach) b->is_detached = true;
        if (how == ompt_task_late_fulfill)
            check(b->is_detached, "task_schedule: fulfilled, but not detached");
    }
    if (how == ompt_task_late_fulfill) return;
    task* const n = of(next, "task_schedule, next");
    if (n) check(!n->has_ended, "task_schedule: to a task that has ended");
    if (b && n && how == ompt_task_switch) check(b != n, "task_schedule: to itself");
}
void on_sync(const char* what, ompt_sync_region_t kind, ompt_scope_endpoint_t at, ompt_data_t* parallel,
             ompt_data_t* d) {
    const std::lock_guard guard(lock);
    task* const t = of(d, what);
    const std::string name = std::string(what) + std::to_string(static_cast<int>(kind));
    ++counts[name + (at == ompt_scope_begin ? "_begin" : "_end")];
    check(parallel != nullptr, name + ": no parallel region");
    if (!t) return;
    check(!t->has_ended, name + ": of a task that has ended");
    if (at == ompt_scope_end) return close(t, name);
    const bool is_wait = std::string(what) == "wait";
    const std::string around = "sync" + std::to_string(static_cast<int>(kind));
    if (is_wait) check(!t->open.empty() && t->open.back() == around, name + ": not in its region");
    open(t, name);
    check_current(t, what);
}
void on_sync_region(ompt_sync_region_t k, ompt_scope_endpoint_t e, ompt_data_t* p, ompt_data_t* t,
                    const void*) {
    on_sync("sync", k, e, p, t);
}
void on_sync_region_wait(ompt_sync_region_t k, ompt_scope_endpoint_t e, ompt_data_t* p, ompt_data_t* t,
                         const void*) {
    if (e == ompt_scope_begin) {
        ompt_wait_id_t w = 0;
        const int s = get_state(&w);
        const std::lock_guard guard(lock);
        check(s >= 0x10 && s < 0x30, "wait: ompt_get_state() does not say so");
    }
    on_sync("wait", k, e, p, t);
}
void on_work(ompt_work_t kind, ompt_scope_endpoint_t at, ompt_data_t*, ompt_data_t* d, std::uint64_t,
             const void*) {
    const std::lock_guard guard(lock);
    task* const t = of(d, "work");
    const std::string name = "work" + std::to_string(static_cast<int>(kind));
    ++counts[name + (at == ompt_scope_begin ? "_begin" : "_end")];
    at == ompt_scope_begin ? open(t, name) : close(t, name);
}
void on_masked(ompt_scope_endpoint_t at, ompt_data_t*, ompt_data_t* d, const void*) {
    const std::lock_guard guard(lock);
    task* const t = of(d, "masked");
    ++counts[at == ompt_scope_begin ? "masked_begin" : "masked_end"];
    at == ompt_scope_begin ? open(t, "masked") : close(t, "masked");
}
void on_acquire(ompt_mutex_t, unsigned, unsigned, ompt_wait_id_t, const void*) {
    const std::lock_guard guard(lock);
    ++counts["mutex_acquire"];
}
void on_acquired(ompt_mutex_t, ompt_wait_id_t, const void*) {
    const std::lock_guard guard(lock);
    ++counts["mutex_acquired"];
}
void on_released(ompt_mutex_t, ompt_wait_id_t, const void*) {
    const std::lock_guard guard(lock);
    ++counts["mutex_released"];
}
void on_dependences(ompt_data_t* d, const ompt_dependence_t* list, int n) {
    const std::lock_guard guard(lock);
    of(d, "dependences");
    check(n > 0 && list[0].variable.ptr != nullptr, "dependences: an empty list");
    counts["dependences"] += n;
}

void ask_for(ompt_set_callback_t set, ompt_callbacks_t which, ompt_callback_t c, bool at_all,
             const char* name) {
    const ompt_set_result_t r = set(which, c);
    check(at_all ? r == ompt_set_always || r == ompt_set_sometimes : r == ompt_set_never,
          std::string("ompt_set_callback(") + name + "): " + std::to_string(static_cast<int>(r)));
}

int initialize(ompt_function_lookup_t look_up, int, ompt_data_t* d) {
    d->value = 4711;
    const auto set = reinterpret_cast<ompt_set_callback_t>(look_up("ompt_set_callback"));
    unique_id = reinterpret_cast<ompt_get_unique_id_t>(look_up("ompt_get_unique_id"));
    task_info = reinterpret_cast<ompt_get_task_info_t>(look_up("ompt_get_task_info"));
    parallel_info = reinterpret_cast<ompt_get_parallel_info_t>(look_up("ompt_get_parallel_info"));
    thread_data = reinterpret_cast<ompt_get_thread_data_t>(look_up("ompt_get_thread_data"));
    get_state = reinterpret_cast<ompt_get_state_t>(look_up("ompt_get_state"));
    finalize_tool = reinterpret_cast<ompt_finalize_tool_t>(look_up("ompt_finalize_tool"));
    if (std::getenv("OMPT_PAIRING_REFUSE")) return 0;
    check(look_up("ompt_no_such_function") == nullptr, "lookup: a function that does not exist");
#define PAIRING_FUNCTION(name) check(look_up(#name) != nullptr, "lookup: there is no " #name);
    FOREACH_OMPT_INQUIRY_FN(PAIRING_FUNCTION)
#define PAIRING_CALLBACK(which, function)                                                                    \
    ask_for(set, ompt_callback_##which, reinterpret_cast<ompt_callback_t>(function), true, #which)
    PAIRING_CALLBACK(thread_begin, on_thread_begin);
    PAIRING_CALLBACK(thread_end, on_thread_end);
    PAIRING_CALLBACK(parallel_begin, on_parallel_begin);
    PAIRING_CALLBACK(parallel_end, on_parallel_end);
    PAIRING_CALLBACK(implicit_task, on_implicit_task);
    PAIRING_CALLBACK(task_create, on_task_create);
    PAIRING_CALLBACK(task_schedule, on_task_schedule);
    PAIRING_CALLBACK(sync_region, on_sync_region);
    PAIRING_CALLBACK(sync_region_wait, on_sync_region_wait);
    PAIRING_CALLBACK(work, on_work);
    PAIRING_CALLBACK(masked, on_masked);
    PAIRING_CALLBACK(mutex_acquire, on_acquire);
    PAIRING_CALLBACK(mutex_acquired, on_acquired);
    PAIRING_CALLBACK(mutex_released, on_released);
    PAIRING_CALLBACK(dependences, on_dependences);
    // What is not given is refused, and what does not exist is an error.
    const auto any = reinterpret_cast<ompt_callback_t>(on_masked);
    ask_for(set, ompt_callback_target_emi, any, false, "target_emi");
    ask_for(set, ompt_callback_flush, any, false, "flush");
    ask_for(set, ompt_callback_task_dependence, any, false, "task_dependence");
    check(set(static_cast<ompt_callbacks_t>(4000), any) == ompt_set_error, "ompt_set_callback(4000)");
    const auto get = reinterpret_cast<ompt_get_callback_t>(look_up("ompt_get_callback"));
    ompt_callback_t c = nullptr;
    check(get(ompt_callback_work, &c) == 1 && c == reinterpret_cast<ompt_callback_t>(on_work),
          "ompt_get_callback(work)");
    check(get(ompt_callback_flush, &c) == 0, "ompt_get_callback(flush): set, though it was refused");
    const auto next_state = reinterpret_cast<ompt_enumerate_states_t>(look_up("ompt_enumerate_states"));
    int at = ompt_state_undefined, n = 0;
    for (const char* name = nullptr; n < 100 && next_state(at, &at, &name); ++n)
        check(name && *name, "a state without a name");
    check(n > 3 && n < 100, "ompt_enumerate_states(): " + std::to_string(n) + " states");
    return 1;
}

void finalize(ompt_data_t* d) {
    const std::lock_guard guard(lock);
    check(d->value == 4711, "finalize: other data");
    check(std::ranges::all_of(threads, [](const auto& t) { return t.second == ompt_thread_worker; }),
          "finalize: threads have not ended");
    for (const auto& [name, n] : counts) {
        const auto at = name.rfind("_begin");
        if (at == std::string::npos || at + 6 != name.size()) continue;
        const std::string end = name.substr(0, at) + "_end";
        check(counts[end] == n,
              name + ": " + std::to_string(n) + ", but " + std::to_string(counts[end]) + " ends");
    }
    for (const auto& [name, n] : counts) std::fprintf(stderr, "tool: %s %ld\n", name.c_str(), n);
    for (const std::string& w : wrong) std::fprintf(stderr, "wrong: %s\n", w.c_str());
    std::fprintf(stderr, "tool: finalized\n");
}

ompt_start_tool_result_t result{initialize, finalize, {0}};

} // namespace

extern "C" [[gnu::visibility("default")]] ompt_start_tool_result_t* ompt_start_tool(unsigned version,
                                                                                    const char* library) {
    return version >= 201611 && library && *library ? &result : nullptr;
}
