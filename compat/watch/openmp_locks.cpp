/// Waits for the locks of OpenMP. A thread of an OpenMP program may continue on another thread of the system after such
/// a wait, so nothing here belongs to a thread of the system.
#include "waiting.hpp"

using namespace weft::watch;

namespace {

/// Calls `lock`, and notes how long that took.
template <class Call>
[[gnu::always_inline]] inline void locked(const void* what, Call lock) {
    if (!is_noting()) return lock();
    const std::uint64_t began = now_ns();
    lock();
    const std::uint64_t elapsed = now_ns() - began;
    if (elapsed < shortest_wait_ns) return;
    note(state::mutex, take_stack(1), elapsed, reinterpret_cast<std::uint64_t>(what), no_place);
}

original<void()> gomp_critical("GOMP_critical_start");
original<void(void**)> gomp_named("GOMP_critical_name_start");
original<void(void*)> set_lock("omp_set_lock");
original<void(void*)> set_nest_lock("omp_set_nest_lock");
original<void(void*, std::int32_t, void*)> kmpc_critical("__kmpc_critical");
original<void(void*, std::int32_t, void*, std::uint32_t)> kmpc_hinted("__kmpc_critical_with_hint");

} // namespace

extern "C" {

void GOMP_critical_start() {
    locked(nullptr, [] { gomp_critical.get()(); });
}

void GOMP_critical_name_start(void** name) {
    locked(name, [&] { gomp_named.get()(name); });
}

void omp_set_lock(void* lock) {
    locked(lock, [&] { set_lock.get()(lock); });
}

void omp_set_nest_lock(void* lock) {
    locked(lock, [&] { set_nest_lock.get()(lock); });
}

void __kmpc_critical(void* place, std::int32_t thread, void* name) {
    locked(name, [&] { kmpc_critical.get()(place, thread, name); });
}

void __kmpc_critical_with_hint(void* place, std::int32_t thread, void* name, std::uint32_t hint) {
    locked(name, [&] { kmpc_hinted.get()(place, thread, name, hint); });
}
}
