#include "engine/threads/thread_engine.hpp"

#include <cstddef>

#include <pthread.h>
#include <sched.h>

/// Workers that change cores: their kernel threads change the cores that they are pinned to (pinned_threads.hpp).
namespace weft::engine {

void thread_engine::occupies(thread_worker& w, kernel_thread& self) noexcept {
    // By this name a daemon that moves the threads of a program knows those that it leaves alone.
    if (is_guest(w)) pthread_setname_np(pthread_self(), "weft-guest");
    if (options.pin && !is_guest(w))
        pinned.comes(w, self, [this](const kernel_thread& t, int core) { return pin(t, core); });
    // It begins on its core, and may find its first task without having searched: starts_working() is not called then.
    if (away_from_home) sched_setaffinity(0, sizeof *away_from_home, &*away_from_home);
}

void thread_engine::pin_again(thread_worker& w) noexcept {
    if (options.pin && !away_from_home && !is_guest(w))
        pinned.again(w, [this](const kernel_thread& t, int core) { return pin(t, core); });
}

bool thread_engine::pin(const kernel_thread& t, int core) const noexcept {
    const cpu_set_t mask = mask_of(core);
    return sched_setaffinity(t.id, sizeof mask, &mask) == 0;
}

cpu_set_t thread_engine::mask_of(int core) const noexcept {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    const int cpu = pace ? pace->cpu_of(core) : machine.core_at(core).os_index;
    CPU_SET(static_cast<std::size_t>(cpu), &mask);
    return mask;
}

bool thread_engine::exchange_cores(worker& a, worker& b) noexcept {
    if (!options.pin || is_guest(a) || is_guest(b))
        return false; // cores are numbers only, or change all the time
    return pinned.exchange(static_cast<thread_worker&>(a), static_cast<thread_worker&>(b),
                           [this](const kernel_thread& t, int core) { return pin(t, core); });
}

} // namespace weft::engine
