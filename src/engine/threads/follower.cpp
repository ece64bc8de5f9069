#include "engine/threads/follower.hpp"

#include "engine/threads/thread_engine.hpp"
#include "machine/quota.hpp"
#include "machine/workers.hpp"

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

/// The thread that looks. It blocks all signals, and nothing waits for it but the last follower.
struct monitor {
    pthread_t thread{};
    std::atomic<std::uint32_t> stopping{0};

    /// Null if there is no thread.
    static monitor* start() noexcept {
        auto* const m = new (std::nothrow) monitor;
        if (!m) return nullptr;
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        const int failure = pthread_create(
            &m->thread, nullptr, [](void* self) { return static_cast<monitor*>(self)->run(), self; }, m);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        if (!failure) return m;
        delete m;
        return nullptr;
    }

    /// Not under process_lock(): the thread may be about to take it.
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

// Guarded by process_lock(), and without a destructor.
constinit follower* first = nullptr;
constinit monitor* looking = nullptr;

} // namespace

void monitor::look() noexcept {
    try {
        const auto quota = cpu_quota();
        const std::lock_guard guard(process_lock());
        for (follower* f = first; f; f = f->next_) f->of_.follow(quota);
    } catch (const std::bad_alloc&) {} // perhaps in a second
}

follower::follower(thread_engine& of) : of_(of) {
    const std::lock_guard guard(process_lock());
    next_ = first;
    first = this;
    if (!looking) looking = monitor::start();
}

follower::~follower() {
    monitor* last = nullptr;
    {
        const std::lock_guard guard(process_lock());
        follower** at = &first;
        while (*at != this) at = &(*at)->next_;
        *at = next_;
        if (!first) {
            last = looking;
            looking = nullptr;
        }
    }
    if (last) last->stop();
}

void forget_followers() noexcept { first = nullptr, looking = nullptr; }

} // namespace weft::engine
