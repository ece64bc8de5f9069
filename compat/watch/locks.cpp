/// Waits for the locks of the C library. A lock that is free costs one pthread_mutex_trylock instead of one
/// pthread_mutex_lock. The stack is taken while the thread has to wait anyway, not while it holds the lock.
#include "waiting.hpp"

#include <pthread.h>
#include <semaphore.h>

namespace weft::watch {

namespace {

constexpr std::size_t known_locks = 1024;

/// By hash of the lock: the place where the thread that has it had waited for it. Two locks may share an entry, so it is
/// a hint.
std::atomic<std::uint32_t> holders[known_locks];

std::atomic<std::uint32_t>& holder_of(const void* lock) noexcept {
    return holders[(reinterpret_cast<std::uintptr_t>(lock) >> 4) % known_locks];
}

original<int(pthread_mutex_t*)> mutex_lock("pthread_mutex_lock");
original<int(pthread_mutex_t*)> mutex_trylock("pthread_mutex_trylock");
original<int(pthread_rwlock_t*)> rwlock_rdlock("pthread_rwlock_rdlock");
original<int(pthread_rwlock_t*)> rwlock_tryrdlock("pthread_rwlock_tryrdlock");
original<int(pthread_rwlock_t*)> rwlock_wrlock("pthread_rwlock_wrlock");
original<int(pthread_rwlock_t*)> rwlock_trywrlock("pthread_rwlock_trywrlock");
original<int(pthread_cond_t*, pthread_mutex_t*)> cond_wait("pthread_cond_wait");
original<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> cond_timedwait("pthread_cond_timedwait");
original<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>
    cond_clockwait("pthread_cond_clockwait");
original<int(pthread_barrier_t*)> barrier_wait("pthread_barrier_wait");
original<int(sem_t*)> semaphore_wait("sem_wait");

template <class Lock>
[[gnu::always_inline]] inline int locked(state what, Lock* lock, original<int(Lock*)>& attempt,
                                         original<int(Lock*)>& wait) {
    if (is_inside || !is_noting()) return wait.get()(lock);
    if (const int failed = attempt.get()(lock); failed != EBUSY) return failed;
    is_inside = true;
    const std::uint64_t began = now_ns();
    const stack where = take_stack(1);
    // relaxed: a hint for people
    const std::uint32_t stored = holder_of(lock).load(std::memory_order_relaxed);
    const std::uint32_t holder = stored == 0 ? no_place : stored - 1;
    const int failed = wait.get()(lock);
    const std::uint64_t elapsed = now_ns() - began;
    const std::uint32_t at = note(what, where, elapsed, reinterpret_cast<std::uint64_t>(lock), holder);
    if (at != no_place) holder_of(lock).store(at + 1, std::memory_order_relaxed);
    is_inside = false;
    return failed;
}

std::uint64_t address(const void* of) noexcept { return reinterpret_cast<std::uint64_t>(of); }

} // namespace

} // namespace weft::watch

using namespace weft::watch;

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* m) noexcept {
    return locked(state::mutex, m, mutex_trylock, mutex_lock);
}

int pthread_rwlock_rdlock(pthread_rwlock_t* l) noexcept {
    return locked(state::rwlock, l, rwlock_tryrdlock, rwlock_rdlock);
}

int pthread_rwlock_wrlock(pthread_rwlock_t* l) noexcept {
    return locked(state::rwlock, l, rwlock_trywrlock, rwlock_wrlock);
}

// Thread cancellation unwinds through these, so they are not noexcept.
int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
    return watched(state::condition, address(c), [&] { return cond_wait.get()(c, m); });
}

int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* until) {
    return watched(state::condition, address(c), [&] { return cond_timedwait.get()(c, m, until); });
}

int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock, const timespec* until) {
    return watched(state::condition, address(c), [&] { return cond_clockwait.get()(c, m, clock, until); });
}

int pthread_barrier_wait(pthread_barrier_t* b) noexcept {
    return watched(state::barrier, address(b), [&] { return barrier_wait.get()(b); });
}

int sem_wait(sem_t* s) {
    return watched(state::semaphore, address(s), [&] { return semaphore_wait.get()(s); });
}
}
