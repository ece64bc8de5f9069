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

} // namespace

extern "C" {

void GOMP_barrier() { static_cast<void>(pass_barrier(current_region(), false)); }
bool GOMP_barrier_cancel() { return pass_barrier(current_region(), true); }

void GOMP_critical_start() { acquire(unnamed); }
void GOMP_critical_end() { release(unnamed); }
void GOMP_critical_name_start(void** name) { acquire(lock_in(name)); }
void GOMP_critical_name_end(void** name) { release(lock_in(name)); }
void GOMP_atomic_start() { acquire(for_atomics); }
void GOMP_atomic_end() { release(for_atomics); }

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

bool GOMP_single_start() { return enter_share(current_region(), {}); }
void* GOMP_single_copy_start() {
    region& me = current_region();
    if (enter_share(me, {})) return nullptr;
    work_share& w = *me.on->share;
    static_cast<void>(pass_barrier(me, false));
    return w.copied.load(std::memory_order_relaxed); // the barrier orders it
}
void GOMP_single_copy_end(void* data) {
    region& me = current_region();
    me.on->share->copied.store(data, std::memory_order_relaxed); // before the barrier
    static_cast<void>(pass_barrier(me, false));
}

void GOMP_scope_start(std::uintptr_t* reductions) { static_cast<void>(enter_with({}, reductions, nullptr)); }

} // extern "C"
