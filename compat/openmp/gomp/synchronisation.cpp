#include "gomp/loops.hpp"
#include "runtime/locks.hpp"
#include "runtime/team.hpp"

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <vector>

/// GOMP_barrier, critical, atomic, ordered, doacross, single, scope.
using namespace weft::openmp;
using namespace weft::openmp::gomp;

namespace {

constinit std::atomic<std::uint32_t> unnamed{0}, for_atomics{0};

/// gcc gives each name a word that is null at first. The lock is in it.
std::atomic<std::uint32_t>& lock_in(void** name) noexcept {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(name);
}

template <class T>
void wait_doacross_of(T first, va_list& rest) {
    region& me = current_region();
    std::array<std::uint64_t, 16> few{};
    const unsigned loops = doacross_dimensions(me);
    std::vector<std::uint64_t> many(loops > few.size() ? loops : 0);
    std::uint64_t* const at = many.empty() ? few.data() : many.data();
    at[0] = static_cast<std::uint64_t>(first);
    for (unsigned i = 1; i < loops; ++i) at[i] = static_cast<std::uint64_t>(va_arg(rest, T));
    wait_doacross(me, at);
}

/// gcc does not call at the end of the single region: the next event of the thread ends it.
void show_single(region& me, bool runs, const void* from) noexcept {
    tool::work_begins(me, runs ? tool::work::single_executor : tool::work::single_other, 1, from);
}

} // namespace

extern "C" {

// gcc calls this also for the barrier that a single or a static loop implies.
void GOMP_barrier() {
    static_cast<void>(pass_barrier(current_region(), false, tool::sync::barrier_explicit, WEFT_CALLER));
}
bool GOMP_barrier_cancel() {
    return pass_barrier(current_region(), true, tool::sync::barrier_explicit, WEFT_CALLER);
}

void GOMP_critical_start() { acquire_as(tool::mutex::critical, unnamed, WEFT_CALLER); }
void GOMP_critical_end() { release_as(tool::mutex::critical, unnamed, WEFT_CALLER); }
void GOMP_critical_name_start(void** name) { acquire_as(tool::mutex::critical, lock_in(name), WEFT_CALLER); }
void GOMP_critical_name_end(void** name) { release_as(tool::mutex::critical, lock_in(name), WEFT_CALLER); }
void GOMP_atomic_start() { acquire_as(tool::mutex::atomic, for_atomics, WEFT_CALLER); }
void GOMP_atomic_end() { release_as(tool::mutex::atomic, for_atomics, WEFT_CALLER); }

void GOMP_ordered_start() { begin_ordered(current_region()); }
void GOMP_ordered_end() { end_ordered(current_region()); }
void GOMP_doacross_post(long* at) {
    post_doacross(current_region(), reinterpret_cast<const std::uint64_t*>(at));
}
void GOMP_doacross_ull_post(unsigned long long* at) {
    post_doacross(current_region(), reinterpret_cast<const std::uint64_t*>(at));
}
void GOMP_doacross_wait(long first, ...) {
    va_list rest;
    va_start(rest, first);
    wait_doacross_of<long>(first, rest);
    va_end(rest);
}
void GOMP_doacross_ull_wait(unsigned long long first, ...) {
    va_list rest;
    va_start(rest, first);
    wait_doacross_of<unsigned long long>(first, rest);
    va_end(rest);
}

bool GOMP_single_start() {
    region& me = current_region();
    const bool runs = enter_share(me, {});
    if (tool::is_on()) [[unlikely]]
        show_single(me, runs, WEFT_CALLER);
    return runs;
}
void* GOMP_single_copy_start() {
    region& me = current_region();
    const bool runs = enter_share(me, {});
    if (tool::is_on()) [[unlikely]]
        show_single(me, runs, WEFT_CALLER);
    if (runs) return nullptr;
    work_share& w = *me.on->share;
    static_cast<void>(pass_barrier(me, false, tool::sync::barrier_workshare, WEFT_CALLER));
    return w.copied.load(std::memory_order_relaxed); // the barrier orders it
}
void GOMP_single_copy_end(void* data) {
    region& me = current_region();
    me.on->share->copied.store(data, std::memory_order_relaxed); // before the barrier
    static_cast<void>(pass_barrier(me, false, tool::sync::barrier_workshare, WEFT_CALLER));
}

void GOMP_scope_start(std::uintptr_t* reductions) { static_cast<void>(enter_with({}, reductions, nullptr)); }

} // extern "C"
