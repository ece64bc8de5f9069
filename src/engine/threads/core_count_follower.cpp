#include "engine/threads/core_count_follower.hpp"

#include "engine/process/process.hpp"
#include "engine/threads/thread_engine.hpp"
#include "machine/quota.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <new>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::engine {

/// The thread that looks at the masks and the quota. It blocks all signals. Only the last follower waits for
/// it.
struct monitor_thread {
    pthread_t thread{};
    std::atomic<std::uint32_t> stopping{
        0}; ///< futex; written by stop(), read by the thread: release, acquire

    /// Null if the thread cannot be created.
    static monitor_thread* start() noexcept {
        auto* const m = new (std::nothrow) monitor_thread;
        if (!m) return nullptr;
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        const int failure = pthread_create(
            &m->thread, nullptr, [](void* self) { return static_cast<monitor_thread*>(self)->run(), self; },
            m);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        if (!failure) return m;
        delete m;
        return nullptr;
    }

    /// Requires: the caller does not hold process_lock(), which the thread may be about to take.
    void stop() noexcept {
        stopping.store(1, std::memory_order_release); // pairs with the loads in run()
        syscall(SYS_futex, &stopping, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
        pthread_join(thread, nullptr);
        delete this;
    }

private:
    void run() noexcept {
        constexpr timespec between{.tv_sec = 1, .tv_nsec = 0};
        for (;;) {
            syscall(SYS_futex, &stopping, FUTEX_WAIT_PRIVATE, 0, &between, nullptr, 0);
            if (stopping.load(std::memory_order_acquire)) return; // pairs with stop()
            look();
        }
    }

    static void look() noexcept;
};

namespace {

// Both guarded by process_lock(), and without a destructor.
constinit core_count_follower* first_follower = nullptr;
constinit monitor_thread* running_monitor = nullptr;

} // namespace

void monitor_thread::look() noexcept {
    try {
        const auto quota = cpu_quota();
        const std::lock_guard guard(process_lock());
        for (core_count_follower* f = first_follower; f; f = f->next_) f->of_.match_active_to_cores(quota);
    } catch (const std::bad_alloc&) {} // it tries again in a second
}

core_count_follower::core_count_follower(thread_engine& of) : of_(of) {
    const std::lock_guard guard(process_lock());
    next_ = first_follower;
    first_follower = this;
    if (!running_monitor) running_monitor = monitor_thread::start();
}

core_count_follower::~core_count_follower() {
    monitor_thread* last = nullptr;
    {
        const std::lock_guard guard(process_lock());
        core_count_follower** at = &first_follower;
        while (*at != this) at = &(*at)->next_;
        *at = next_;
        if (!first_follower) {
            last = running_monitor;
            running_monitor = nullptr;
        }
    }
    if (last) last->stop();
}

void forget_core_count_followers() noexcept { first_follower = nullptr, running_monitor = nullptr; }

} // namespace weft::engine
