#include "runtime/stall.hpp"

#include "runtime/crew.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <mutex>

#include <pthread.h>

/// A thread looks at two counts now and then. Both are relaxed: they lead to a note, and order nothing.
namespace weft::openmp {

namespace {

constexpr timespec between_looks{.tv_sec = 5, .tv_nsec = 0};

std::atomic<int> waiting{0};
std::atomic<unsigned> begun{0};

void* watch(void*) {
    unsigned before = 0;
    for (bool waited_before = false;;) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &between_looks, nullptr);
        const int now_waiting = waiting.load(std::memory_order_relaxed);
        const unsigned now_begun = begun.load(std::memory_order_relaxed);
        const bool is_stalled = waited_before && now_waiting > 0 && now_begun == before;
        waited_before = now_waiting > 0;
        before = now_begun;
        if (!is_stalled) continue;
        std::fprintf(
            stderr,
            "weft: OpenMP: %d threads of teams have waited for a worker for %d s, and none has begun "
            "meanwhile. If threads wait for each other in loops of their own, the program hangs: run "
            "it with WEFT_PREEMPT=klt (weft omp --preempt klt) or WEFT_OPENMP_THREADS=kernel\n",
            now_waiting, static_cast<int>(between_looks.tv_sec));
        return nullptr;
    }
}

void start_watching() noexcept {
    keep_library();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // which the new thread inherits
    pthread_t thread{};
    if (pthread_create(&thread, nullptr, watch, nullptr) == 0)
        pthread_detach(thread); // else there is no note
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace

void threads_will_begin(int n) noexcept {
    static std::once_flag once;
    std::call_once(once, start_watching);
    waiting.fetch_add(n, std::memory_order_relaxed);
}

void thread_has_begun() noexcept {
    waiting.fetch_sub(1, std::memory_order_relaxed);
    begun.fetch_add(1, std::memory_order_relaxed);
}

} // namespace weft::openmp
