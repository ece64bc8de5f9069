#include "kmpc/tasks.hpp"
#include "runtime/launch.hpp"
#include "runtime/team.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

/// __kmpc_omp_task*: explicit tasks. The memory of one is
///
///     region | (up to 64 bytes) | kind | task | private data | what it shares
///
/// An untied task gives itself to the runtime again at each of its scheduling points and returns; it goes on at once on the
/// same thread, which OpenMP allows.
namespace weft::openmp::kmpc {

namespace {

/// In front of the task: what the region does not have.
struct kind {
    std::int32_t flags;
    std::uint32_t bytes; ///< of the task with its private data
    std::uint32_t shared_bytes;
};
static_assert(sizeof(kind) <= 16);

constexpr std::size_t alignment = 64; // of private data that vector code uses
constexpr std::size_t round_up(std::size_t n, std::size_t to) noexcept { return (n + to - 1) / to * to; }
/// Blocks of the runtime's memory begin at multiples of `alignment`.
constexpr std::size_t task_at = round_up(sizeof(region) + sizeof(kind), alignment);

kind& kind_of(const task& t) noexcept {
    return *reinterpret_cast<kind*>(const_cast<char*>(reinterpret_cast<const char*>(&t)) - sizeof(kind));
}

void destroy_private_data(task& t) {
    if (kind_of(t).flags & has_destructors)
        if (auto* const destroy = t.first.destroy) static_cast<void>(destroy(number_of_caller(), &t));
}

/// The code of the region.
void run(void* of) {
    task& t = *static_cast<task*>(of);
    region& me = region_of(&t);
    if (t.code && !discards_tasks(me)) do { // taskwait with nowait has no code
            me.is_continued = false;
            static_cast<void>(t.code(me.on->number, &t));
        } while (me.is_continued);
    destroy_private_data(t);
}

task_request request_of(const task& t) noexcept {
    const std::int32_t flags = kind_of(t).flags;
    return {.code = run,
            .is_deferrable = true,
            .is_final = (flags & is_final) != 0,
            .is_detached = (flags & (is_detachable | is_proxy)) != 0};
}

} // namespace

region& region_of(task* t) noexcept {
    return *reinterpret_cast<region*>(reinterpret_cast<char*>(t) - task_at);
}

task& allocate_task(region& me, std::int32_t flags, std::size_t bytes, std::size_t shared_bytes,
                    std::int32_t (*code)(gtid, task*)) {
    const std::size_t own = round_up(bytes, alignof(std::max_align_t));
    // The region's memory is that of its data; the task does not begin where data would, but at `task_at`.
    region& r = make_task(me, {.code = run,
                               .outlined = trace::address_of(code),
                               .bytes = own + shared_bytes + (task_at - sizeof(region)),
                               .is_final = (flags & is_final) != 0});
    auto* const t = reinterpret_cast<task*>(reinterpret_cast<char*>(&r) + task_at);
    r.data = t;
    r.has_copies = (flags & has_destructors) != 0; // run() has to end them in any case
    *t = {.shares = nullptr, .code = code, .part = 0, .first = {}, .second = {}};
    if (shared_bytes) t->shares = reinterpret_cast<char*>(t) + own;
    kind_of(*t) = {flags, static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(shared_bytes)};
    if (flags & is_proxy) static_cast<void>(event_of(r));
    return *t;
}

task& copy_task(region& me, const task& of) {
    const kind k = kind_of(of);
    task& t = allocate_task(me, k.flags, k.bytes, k.shared_bytes, of.code);
    void* const shares = t.shares;
    std::memcpy(static_cast<void*>(&t), &of, k.bytes);
    t.shares = shares;
    if (shares) std::memcpy(shares, of.shares, k.shared_bytes);
    return t;
}

void discard(task& t) {
    destroy_private_data(t);
    drop_reference(region_of(&t));
}

void submit(region& me, task& t, const std::vector<dependence>* depends, bool is_deferrable,
            const void* from) {
    if (discards_tasks(me)) return discard(t);
    task_request r = request_of(t);
    r.is_deferrable = is_deferrable;
    r.depends = depends;
    r.from = from;
    region_of(&t).group = me.group; // it may have been allocated outside of the group
    if (kind_of(t).flags & has_priority)
        region_of(&t).priority = std::clamp(t.second.priority, 0, settings().max_task_priority);
    submit_task(me, region_of(&t), r);
}

} // namespace weft::openmp::kmpc

using namespace weft::openmp;
using namespace weft::openmp::kmpc;

namespace {

/// A dependence as the compiled code names it. omp_all_memory is a flag, or the last address.
struct depend_info {
    const void* address;
    std::size_t bytes;
    std::uint8_t flags;
};
static_assert(sizeof(depend_info) == 24);

void add(std::vector<dependence>& to, std::int32_t count, const depend_info* list) {
    constexpr std::uint8_t in = 1, out = 2, mutex = 4, set = 8, all = 0x80;
    using kind = dependence::kind;
    for (std::int32_t i = 0; i < count; ++i) {
        const std::uint8_t f = list[i].flags;
        const bool names_all = reinterpret_cast<std::uintptr_t>(list[i].address) == UINTPTR_MAX;
        const kind how = f & all || names_all ? kind::all_memory
                         : f & mutex          ? kind::mutex_in_out_set
                         : f & set            ? kind::in_out_set
                         : f & out            ? kind::in_out
                                              : kind::in;
        if (how == kind::in && !(f & in)) continue; // a depobj without a kind
        to.push_back({list[i].address, how});
    }
}

std::vector<dependence> both(std::int32_t count, const depend_info* list, std::int32_t more,
                             const depend_info* rest) {
    std::vector<dependence> all;
    all.reserve(static_cast<std::size_t>(count + more));
    add(all, count, list);
    add(all, more, rest);
    return all;
}

} // namespace

extern "C" {

task* __kmpc_omp_task_alloc(location*, gtid, std::int32_t flags, std::size_t bytes, std::size_t shared_bytes,
                            std::int32_t (*code)(gtid, task*)) {
    return &allocate_task(current_region(), flags, bytes, shared_bytes, code);
}
task* __kmpc_omp_target_task_alloc(location*, gtid, std::int32_t flags, std::size_t bytes,
                                   std::size_t shared_bytes, std::int32_t (*code)(gtid, task*),
                                   std::int64_t) {
    return &allocate_task(current_region(), flags, bytes, shared_bytes, code);
}
std::int32_t __kmpc_omp_reg_task_with_affinity(location*, gtid, task*, std::int32_t, void*) { return 0; }

std::int32_t __kmpc_omp_task(location*, gtid, task* t) {
    region& me = current_region();
    if (&me == &region_of(t))
        me.is_continued = true;
    else
        submit(me, *t, nullptr, true, WEFT_CALLER);
    return 0;
}
std::int32_t __kmpc_omp_task_parts(location* at, gtid id, task* t) { return __kmpc_omp_task(at, id, t); }
std::int32_t __kmpc_omp_task_with_deps(location*, gtid, task* t, std::int32_t count, const depend_info* list,
                                       std::int32_t more, const depend_info* rest) {
    const std::vector<dependence> depends = both(count, list, more, rest);
    submit(current_region(), *t, &depends, true, WEFT_CALLER);
    return 0;
}

// The compiled code calls the task between these two.
void __kmpc_omp_task_begin_if0(location*, gtid, task* t) {
    if (tool::is_on()) [[unlikely]]
        tool::task_is_created(region_of(t), tool::task_undeferred, nullptr, WEFT_CALLER);
    begin_undeferred(current_region(), region_of(t));
}
void __kmpc_omp_task_complete_if0(location*, gtid, task* t) {
    region& r = region_of(t);
    while (std::exchange(r.is_continued, false)) static_cast<void>(t->code(r.on->number, t));
    destroy_private_data(*t);
    end_undeferred(r);
}
void* __kmpc_task_allow_completion_event(location*, gtid, task* t) { return event_of(region_of(t)); }
void __kmpc_proxy_task_completed(gtid, task* t) { fulfill(&region_of(t)); }
void __kmpc_proxy_task_completed_ooo(task* t) { fulfill(&region_of(t)); }

std::int32_t __kmpc_omp_taskwait(location*, gtid) {
    wait_for_children(current_region(), WEFT_CALLER);
    return 0;
}
std::int32_t __kmpc_omp_taskyield(location*, gtid, int) {
    yield_to_others();
    return 0;
}
void __kmpc_omp_wait_deps(location*, gtid, std::int32_t count, const depend_info* list, std::int32_t more,
                          const depend_info* rest) {
    wait_for_dependences(current_region(), both(count, list, more, rest));
}
/// taskwait with depend. With nowait it is a task without a body, for which later ones wait.
void __kmpc_omp_taskwait_deps_51(location*, gtid, std::int32_t count, const depend_info* list,
                                 std::int32_t more, const depend_info* rest, std::int32_t does_not_wait) {
    region& me = current_region();
    const std::vector<dependence> depends = both(count, list, more, rest);
    if (!does_not_wait) {
        const tool::sync_scope seen(me, tool::sync::taskwait, WEFT_CALLER);
        return wait_for_dependences(me, depends);
    }
    submit(me, allocate_task(me, is_tied, sizeof(task), 0, [](gtid, task*) -> std::int32_t { return 0; }),
           &depends);
}

void __kmpc_taskgroup(location*, gtid) { begin_group(current_region(), false, WEFT_CALLER); }

std::int32_t __kmpc_omp_has_task_team(gtid) { return current_region().in->size > 1; }
/// There is no device that works asynchronously.
void** __kmpc_omp_get_target_async_handle_ptr(gtid) { return nullptr; }

// For debuggers and tests.
successor* __kmpc_task_get_successors(task* t) { return region_of(t).node.successors; }
dependence_node* __kmpc_task_get_depnode(task* t) { return &region_of(t).node; }

std::uint64_t __kmpc_get_taskid() { return reinterpret_cast<std::uint64_t>(&current_region()); }
std::uint64_t __kmpc_get_parent_taskid() { return reinterpret_cast<std::uint64_t>(current_region().parent); }

} // extern "C"
