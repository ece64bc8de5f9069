#include "runtime/tasks.hpp"
#include "runtime/launch.hpp"
#include "runtime/reductions.hpp"
#include "runtime/taskloop.hpp"
#include "runtime/team.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

/// GOMP_task, taskloop, taskwait, taskgroup, task reductions.
using namespace weft::openmp;

namespace {

constexpr unsigned flag_final = 1 << 1, flag_depend = 1 << 3, flag_priority = 1 << 4, flag_up = 1 << 8,
                   flag_grainsize = 1 << 9, flag_if = 1 << 10, flag_nogroup = 1 << 11,
                   flag_reduction = 1 << 12, flag_detach = 1 << 13, flag_strict = 1 << 14;

std::size_t word_of(void* p) noexcept { return reinterpret_cast<std::size_t>(p); }

/// A depobj holds an address and a kind.
void add_object(std::vector<dependence>& to, void* object) {
    void** const o = static_cast<void**>(object);
    to.push_back({o[0], static_cast<dependence::kind>(word_of(o[1]))});
}

/// Two layouts: {n, number of out, addresses: out first}, or {0, n, out, mutexinoutset, in, addresses in that order, then
/// depobjs}.
std::vector<dependence> dependences_in(void** list) {
    std::vector<dependence> all;
    if (const std::size_t n = word_of(list[0])) {
        const std::size_t out = word_of(list[1]);
        for (std::size_t i = 0; i < n; ++i)
            all.push_back({list[2 + i], i < out ? dependence::kind::in_out : dependence::kind::in});
        return all;
    }
    const std::size_t n = word_of(list[1]), out = word_of(list[2]), mutex = word_of(list[3]),
                      in = word_of(list[4]);
    for (std::size_t i = 0; i < n; ++i) {
        void* const at = list[5 + i];
        if (i < out)
            all.push_back({at, dependence::kind::in_out});
        else if (i < out + mutex)
            all.push_back({at, dependence::kind::mutex_in_out_set});
        else if (i < out + mutex + in)
            all.push_back({at, dependence::kind::in});
        else
            add_object(all, at);
    }
    return all;
}

int limited(int priority) noexcept { return std::clamp(priority, 0, settings().max_task_priority); }

/// The data of a taskloop begin with its two bounds, and then, if it has reductions, with the address of their set.
template <class T>
struct loop_data {
    T begin, end;
    std::uintptr_t* reductions;
};

template <class T>
void run_taskloop(void (*code)(void*), void* data, void (*copy)(void*, void*), long bytes, long alignment,
                  unsigned flags, unsigned long given, int priority, T start, T end, T step, std::uint64_t n,
                  const void* from) {
    auto* const head = static_cast<loop_data<T>*>(data);
    if (n == 0) {
        // Says to the caller that the reductions were not registered.
        if ((flags & (flag_nogroup | flag_reduction)) == flag_reduction) head->reductions[2] = 0;
        return;
    }
    region& me = current_region();
    const bool has_group = (flags & flag_nogroup) == 0;
    if (has_group) {
        begin_group(me, false, from);
        if (flags & flag_reduction) {
            register_reductions(head->reductions, nullptr, me.in->size, me.group->reductions);
            me.group->reductions = head->reductions;
        }
    }
    const taskloop_cut c = flags & flag_grainsize
                               ? cut_by_grain(n, given, (flags & flag_strict) != 0)
                               : cut_by_number(n, given ? given : static_cast<std::uint64_t>(me.in->size));
    const task_request r{.code = code,
                         .data = data,
                         .copy = copy,
                         .bytes = static_cast<std::size_t>(bytes),
                         .alignment = static_cast<std::size_t>(alignment),
                         .is_deferrable = (flags & flag_if) != 0,
                         .is_final = (flags & flag_final) != 0,
                         .priority = (flags & flag_priority) ? limited(priority) : 0,
                         .from = from};
    std::uint64_t at = 0;
    for (std::uint64_t i = 0; i < c.tasks && !discards_tasks(me); ++i) {
        const bool is_last = i + 1 == c.tasks;
        const std::uint64_t size = c.size_of(i);
        region& t = make_task(me, r);
        auto* const bounds = static_cast<loop_data<T>*>(t.data);
        bounds->begin =
            static_cast<T>(static_cast<std::uint64_t>(start) + at * static_cast<std::uint64_t>(step));
        at += size;
        bounds->end =
            is_last
                ? end
                : static_cast<T>(static_cast<std::uint64_t>(start) + at * static_cast<std::uint64_t>(step));
        submit_task(me, t, r);
    }
    if (has_group) end_group(me, from);
}

} // namespace

extern "C" {

// `priority` and `detach` are arguments of newer compilers: they may be read if the flags say so only.
void GOMP_task(void (*code)(void*), void* data, void (*copy)(void*, void*), long bytes, long alignment,
               bool is_deferrable, unsigned flags, void** depend, int priority, void* detach) {
    region& me = current_region();
    std::vector<dependence> depends;
    if (flags & flag_depend) depends = dependences_in(depend);
    const task_request r{.code = code,
                         .data = data,
                         .copy = copy,
                         .bytes = static_cast<std::size_t>(bytes),
                         .alignment = static_cast<std::size_t>(alignment),
                         .is_deferrable = is_deferrable,
                         .is_final = (flags & flag_final) != 0,
                         .is_detached = (flags & flag_detach) != 0,
                         .priority = (flags & flag_priority) ? limited(priority) : 0,
                         .depends = (flags & flag_depend) ? &depends : nullptr,
                         .from = WEFT_CALLER};
    if (!r.is_detached) return run_task(me, r);
    if (discards_tasks(me)) return;
    region& t = make_task(me, r);
    void* const event = event_of(t);
    *static_cast<void**>(detach) = event;
    *static_cast<void**>(t.data) = event; // the body reads it there
    submit_task(me, t, r);
}

void GOMP_taskloop(void (*code)(void*), void* data, void (*copy)(void*, void*), long bytes, long alignment,
                   unsigned flags, unsigned long tasks, int priority, long start, long end, long step) {
    const auto s = static_cast<std::uint64_t>(start), e = static_cast<std::uint64_t>(end),
               i = static_cast<std::uint64_t>(step);
    std::uint64_t n = 0;
    if (step > 0 && start < end) n = (e - s - 1) / i + 1;
    if (step < 0 && start > end) n = (s - e - 1) / (0 - i) + 1;
    run_taskloop<long>(code, data, copy, bytes, alignment, flags, tasks, priority, start, end, step, n,
                       WEFT_CALLER);
}

void GOMP_taskloop_ull(void (*code)(void*), void* data, void (*copy)(void*, void*), long bytes,
                       long alignment, unsigned flags, unsigned long tasks, int priority,
                       unsigned long long start, unsigned long long end, unsigned long long step) {
    std::uint64_t n = 0;
    if ((flags & flag_up) && start < end) n = (end - start - 1) / step + 1;
    if (!(flags & flag_up) && start > end) n = (start - end - 1) / (0 - step) + 1;
    run_taskloop<unsigned long long>(code, data, copy, bytes, alignment, flags, tasks, priority, start, end,
                                     step, n, WEFT_CALLER);
}

void GOMP_taskwait() { wait_for_children(current_region(), WEFT_CALLER); }
void GOMP_taskwait_depend(void** depend) {
    region& me = current_region();
    const tool::sync_scope seen(me, tool::sync::taskwait, WEFT_CALLER);
    wait_for_dependences(me, dependences_in(depend));
}
void GOMP_taskyield() { yield_to_others(); }

void GOMP_taskgroup_start() { begin_group(current_region(), false, WEFT_CALLER); }
void GOMP_taskgroup_end() { end_group(current_region(), WEFT_CALLER); }

void GOMP_taskgroup_reduction_register(std::uintptr_t* set) {
    region& me = current_region();
    register_reductions(set, nullptr, me.in->size, me.group->reductions);
    me.group->reductions = set;
}
void GOMP_taskgroup_reduction_unregister(std::uintptr_t* set) { unregister_reductions(set); }
void GOMP_task_reduction_remap(std::size_t count, std::size_t originals, void** addresses) {
    remap_reductions(current_region(), count, originals, addresses);
}
void GOMP_workshare_task_reduction_unregister(bool is_cancelled) {
    region& me = current_region();
    std::uintptr_t* const set = me.group->reductions;
    end_group(me);
    if (me.on->number == 0) unregister_reductions(set);
    if (!is_cancelled) static_cast<void>(pass_barrier(me, false));
}

} // extern "C"
