#pragma once

#include "engine/process/fault_report.hpp"
#include "engine/threads/preemption/stop_word.hpp"
#include "queue/sync.hpp"
#include "task/fiber.hpp"

#include <weft/impl/hot.hpp>

#include <ctime>

#include <pthread.h>
#include <sys/types.h>

namespace weft {
struct task;
}

namespace weft::engine {

struct thread_worker;

/// Where other threads reach the thread that runs a worker.
struct reach {
    impl::hot_words* hot = nullptr;
    pthread_t thread{};
};

/// A kernel thread of the engine: it runs a worker, or is stopped with the task that it has run, or is spare. Fields without
/// a remark belong to the thread itself.
struct kernel_thread : reach {
    pid_t id = 0;
    fiber own_stack{};             ///< control block of its own stack, where it begins and ends
    signal_stack_memory signals{}; ///< for its signal handlers

    // ---- written by the thread that wakes it, before that
    thread_worker* worker = nullptr; ///< that it runs from now on; null: it ends
    task* preempted = nullptr;       ///< a task of that worker, which it offers first
    stop_word<queue::std_sync> stopped{};

    kernel_thread* next = nullptr; ///< in a pool; guarded by the lock of the pool
    // ---- the timer: used by the thread that runs the worker
    timer_t timer{};
    bool has_timer = false;
    bool is_armed = false;
    int core = -1; ///< to which it is pinned; -1: to none. Guarded by thread_engine::pinned
};

} // namespace weft::engine
