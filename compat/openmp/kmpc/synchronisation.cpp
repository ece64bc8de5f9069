#include "kmpc/kmpc.hpp"
#include "runtime/cancellation.hpp"
#include "runtime/locks.hpp"
#include "runtime/team.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

/// __kmpc_barrier, single, master, critical, ordered, reduce, cancel, locks, flush, error.
using namespace weft::openmp;
using namespace weft::openmp::kmpc;

namespace weft::openmp::kmpc {

void report(bool is_fatal, const char* text) {
    std::fprintf(stderr, "OMP: %s: Encountered user-directed %s: %s.\n", is_fatal ? "Error" : "Warning",
                 is_fatal ? "error" : "warning", text);
    if (is_fatal) std::abort();
}

} // namespace weft::openmp::kmpc

namespace {

lock_word& lock_in(critical_name* name) noexcept { return *reinterpret_cast<lock_word*>(name); }

/// Threads that have left a cancelled region do not come to its barriers.
void pass(region& me, tool::sync kind = tool::sync::barrier_workshare, const void* from = nullptr) {
    static_cast<void>(pass_barrier(me, me.in->is_cancelled.load(std::memory_order_relaxed), kind, from));
}

tool::sync kind_of_barrier(const location* at) noexcept {
    return at && (at->flags & is_explicit_barrier) ? tool::sync::barrier_explicit
                                                   : tool::sync::barrier_workshare;
}

/// Of a master or masked region; true if the caller is to run it.
bool show_masked(region& me, bool runs, const void* from) noexcept {
    if (runs && tool::is_on()) [[unlikely]]
        tool::masked(me, tool::endpoint::begin, from);
    return runs;
}
void show_end_of_masked(const void* from) noexcept {
    if (tool::is_on()) [[unlikely]]
        tool::masked(current_region(), tool::endpoint::end, from);
}

/// How the threads combine their copies. The end of the reduction finds the same answer.
enum class method { alone, atomically, locked };
method method_of(const region& me, const location* at) noexcept {
    if (me.in->size == 1) return method::alone;
    return at && (at->flags & has_atomic_reduction) ? method::atomically : method::locked;
}

std::int32_t begin_reduction(const location* at, critical_name* name, const void* from) {
    region& me = current_region();
    const method how = method_of(me, at);
    if (how == method::atomically) return 2;
    if (how == method::locked) acquire(lock_in(name));
    if (tool::is_on()) [[unlikely]]
        tool::reduction(me, tool::endpoint::begin, from);
    return 1;
}
void end_reduction(region& me, const location* at, critical_name* name, const void* from) {
    const method how = method_of(me, at);
    if (how == method::atomically) return;
    if (tool::is_on()) [[unlikely]]
        tool::reduction(me, tool::endpoint::end, from);
    if (how == method::locked) release(lock_in(name));
}

enum : std::int32_t { kind_parallel = 1, kind_loop = 2, kind_sections = 3, kind_group = 4 };
cancellable construct_of(std::int32_t kind) noexcept {
    if (kind == kind_loop || kind == kind_sections) return cancellable::work_share;
    return kind == kind_group ? cancellable::group : cancellable::parallel;
}

} // namespace

extern "C" {

void omp_init_lock(void*);
void omp_destroy_lock(void*);
void omp_set_lock(void*);
void omp_unset_lock(void*);
int omp_test_lock(void*);
void omp_init_nest_lock(void*);
void omp_destroy_nest_lock(void*);
void omp_set_nest_lock(void*);
void omp_unset_nest_lock(void*);
int omp_test_nest_lock(void*);

void __kmpc_barrier(location* at, gtid) { pass(current_region(), kind_of_barrier(at), WEFT_CALLER); }
std::int32_t __kmpc_cancel_barrier(location* at, gtid) {
    return pass_barrier(current_region(), true, kind_of_barrier(at), WEFT_CALLER);
}
/// 1 for thread 0, and the others wait for its __kmpc_end_barrier_master().
std::int32_t __kmpc_barrier_master(location*, gtid) {
    region& me = current_region();
    pass(me);
    if (me.on->number == 0) return 1;
    pass(me);
    return 0;
}
void __kmpc_end_barrier_master(location*, gtid) { pass(current_region()); }
std::int32_t __kmpc_barrier_master_nowait(location*, gtid) {
    region& me = current_region();
    pass(me);
    return me.on->number == 0;
}

std::int32_t __kmpc_cancel(location*, gtid, std::int32_t kind) {
    return cancel(current_region(), construct_of(kind));
}
std::int32_t __kmpc_cancellationpoint(location*, gtid, std::int32_t kind) {
    return is_cancelled(current_region(), construct_of(kind));
}

std::int32_t __kmpc_single(location*, gtid) {
    region& me = current_region();
    const bool runs = enter_share(me, {});
    if (tool::is_on()) [[unlikely]]
        tool::work_begins(me, runs ? tool::work::single_executor : tool::work::single_other, 1, WEFT_CALLER);
    return runs;
}
void __kmpc_end_single(location*, gtid) {
    if (tool::is_on()) [[unlikely]]
        tool::work_ends(current_region(), WEFT_CALLER);
}
/// `copy(to, from)`: two lists of addresses. `data` is the caller's; the thread that has run the single region says `is_source`.
void __kmpc_copyprivate(location*, gtid, std::size_t, void* data, void (*copy)(void*, void*),
                        std::int32_t is_source) {
    region& me = current_region();
    work_share& w = *me.on->share;
    if (is_source) w.copied.store(data, std::memory_order_relaxed); // the barrier orders it
    pass(me);
    if (!is_source) copy(data, w.copied.load(std::memory_order_relaxed));
    pass(me);
}
/// The same for code that copies by itself.
void* __kmpc_copyprivate_light(location*, gtid, void* data) {
    region& me = current_region();
    work_share& w = *me.on->share;
    if (data) w.copied.store(data, std::memory_order_relaxed); // likewise
    pass(me);
    return w.copied.load(std::memory_order_relaxed);
}

std::int32_t __kmpc_master(location*, gtid) {
    region& me = current_region();
    return show_masked(me, me.on->number == 0, WEFT_CALLER);
}
void __kmpc_end_master(location*, gtid) { show_end_of_masked(WEFT_CALLER); }
std::int32_t __kmpc_masked(location*, gtid, std::int32_t filter) {
    region& me = current_region();
    return show_masked(me, me.on->number == filter, WEFT_CALLER);
}
void __kmpc_end_masked(location*, gtid) { show_end_of_masked(WEFT_CALLER); }
void __kmpc_scope(location*, gtid, void*) {}
void __kmpc_end_scope(location*, gtid, void*) {}

void __kmpc_critical(location*, gtid, critical_name* name) {
    acquire_as(tool::mutex::critical, lock_in(name), WEFT_CALLER);
}
void __kmpc_critical_with_hint(location*, gtid, critical_name* name, std::uint32_t) {
    acquire_as(tool::mutex::critical, lock_in(name), WEFT_CALLER);
}
void __kmpc_end_critical(location*, gtid, critical_name* name) {
    release_as(tool::mutex::critical, lock_in(name), WEFT_CALLER);
}

void __kmpc_ordered(location*, gtid) { begin_ordered(current_region()); }
void __kmpc_end_ordered(location*, gtid) { end_ordered(current_region()); }
void __kmpc_flush(location*) { std::atomic_thread_fence(std::memory_order_seq_cst); }

/// 1: the caller combines its copies, and ends the reduction; 2: it combines them by atomic operations.
std::int32_t __kmpc_reduce_nowait(location* at, gtid, std::int32_t, std::size_t, void*,
                                  void (*)(void*, void*), critical_name* name) {
    return begin_reduction(at, name, WEFT_CALLER);
}
void __kmpc_end_reduce_nowait(location* at, gtid, critical_name* name) {
    end_reduction(current_region(), at, name, WEFT_CALLER);
}
std::int32_t __kmpc_reduce(location* at, gtid, std::int32_t, std::size_t, void*, void (*)(void*, void*),
                           critical_name* name) {
    return begin_reduction(at, name, WEFT_CALLER);
}
void __kmpc_end_reduce(location* at, gtid, critical_name* name) {
    region& me = current_region();
    end_reduction(me, at, name, WEFT_CALLER);
    pass(me);
}

// ---- locks

void __kmpc_init_lock(location*, gtid, void** l) { omp_init_lock(l); }
void __kmpc_init_lock_with_hint(location*, gtid, void** l, std::uintptr_t) { omp_init_lock(l); }
void __kmpc_destroy_lock(location*, gtid, void** l) { omp_destroy_lock(l); }
void __kmpc_set_lock(location*, gtid, void** l) { omp_set_lock(l); }
void __kmpc_unset_lock(location*, gtid, void** l) { omp_unset_lock(l); }
int __kmpc_test_lock(location*, gtid, void** l) { return omp_test_lock(l); }
void __kmpc_init_nest_lock(location*, gtid, void** l) { omp_init_nest_lock(l); }
void __kmpc_init_nest_lock_with_hint(location*, gtid, void** l, std::uintptr_t) { omp_init_nest_lock(l); }
void __kmpc_destroy_nest_lock(location*, gtid, void** l) { omp_destroy_nest_lock(l); }
void __kmpc_set_nest_lock(location*, gtid, void** l) { omp_set_nest_lock(l); }
void __kmpc_unset_nest_lock(location*, gtid, void** l) { omp_unset_nest_lock(l); }
int __kmpc_test_nest_lock(location*, gtid, void** l) { return omp_test_nest_lock(l); }

/// The error directive: 1 is a warning, 2 ends the program.
void __kmpc_error(location*, std::int32_t severity, const char* text) {
    report(severity == 2, text ? text : "(null)");
}

} // extern "C"
