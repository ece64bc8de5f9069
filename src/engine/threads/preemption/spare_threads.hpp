#pragma once

#include "engine/threads/preemption/kernel_thread.hpp"
#include "engine/worker/preemption_options.hpp"
#include "queue/spin_lock.hpp"

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <pthread.h>

namespace weft::engine {

struct thread_engine;
struct thread_worker;

/// The spare kernel threads of an engine, and the thread that creates more of them on request, since a handler may not. Not
/// here: what a spare thread does when it is taken (hand_over.hpp).
class spare_threads {
public:
    spare_threads(thread_engine& of, parking how) noexcept : of_(of), how_(how) {}
    spare_threads(const spare_threads&) = delete;
    spare_threads& operator=(const spare_threads&) = delete;

    /// Starts the creating thread; throws weft::error.
    void begin();
    /// Ends the spare threads and the creating thread. No task is preempted any more, and none will be.
    void end() noexcept;
    void join() noexcept; ///< after end(): waits until those threads have ended, unless they are workers' own

    // ---- in the handler or in the runtime
    int count() const noexcept {
        return spare_.load(std::memory_order_relaxed);
    } ///< spare ones, in all pools
    /// A spare thread for the worker, or null.
    kernel_thread* take(thread_worker&) noexcept;
    /// Wants one more spare thread for the worker; at most one for each worker is on its way.
    void request(thread_worker&) noexcept;
    /// `t` is spare, and comes from that worker. False if it is to end.
    bool put(kernel_thread& t, thread_worker& from) noexcept;

    void put_back(kernel_thread& t, thread_worker& w) noexcept; ///< one that take() has returned

    // ---- how a thread stops
    void stop(kernel_thread& self) noexcept; ///< until wake(): takes the wake-up back
    void wake(kernel_thread&) noexcept;      ///< after its `worker` and `preempted` were written

    std::size_t made() const noexcept {
        return made_.load(std::memory_order_relaxed);
    } ///< alive, without the workers' own

private:
    struct pool {
        queue::spin_lock<> lock;
        kernel_thread* first = nullptr; ///< guarded by the lock
        kernel_thread* pop() noexcept;
        void push(kernel_thread&) noexcept;
    };
    struct made_thread {
        kernel_thread self{};
        spare_threads* of = nullptr;
        thread_worker* for_worker = nullptr;
        pthread_t joined_by{};
        std::atomic<bool> has_ended{false};
    };

    pool& pool_of(const thread_worker&) noexcept;
    void ask() noexcept; ///< the creating thread looks: a request, an ended thread, the end
    void create_on_request() noexcept;
    void create(thread_worker&) noexcept;
    void reap() noexcept;
    static void* run_creator(void*) noexcept;
    static void* run_made(void*) noexcept;

    thread_engine& of_;
    const parking how_;
    std::unique_ptr<pool[]> pools_; ///< by the workers' ranks; one if they share it
    std::atomic<int> spare_{0};     ///< in all pools; relaxed, a bound
    std::atomic<std::size_t> made_{0};
    /// What the creating thread was asked for since it has looked; a futex. ask() adds, release; the creating thread acquires.
    std::atomic<std::uint32_t> requests_{0};
    std::atomic<bool> ending_{false}; ///< written under each pool's lock in turn
    bool has_creator_ = false;
    pthread_t creator_{};
    sigset_t mask_{};                                 ///< of the threads that it makes
    std::vector<std::unique_ptr<made_thread>> all_{}; ///< of the creating thread, until that has ended
};

} // namespace weft::engine
