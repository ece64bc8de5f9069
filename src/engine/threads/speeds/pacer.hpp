#pragma once

#include "engine/threads/work_clock.hpp"
#include "machine/speeds.hpp"
#include "task/task.hpp"

#include <atomic>
#include <cstdint>
#include <vector>

#include <pthread.h>

namespace weft::engine {

struct thread_engine;
struct thread_worker;

/// Gives each worker the share of a core that its place has: README.md beside this file.
class pacer {
public:
    pacer(thread_engine&, const emulated_speeds&); ///< throws weft::error if its thread cannot be created
    ~pacer();
    pacer(const pacer&) = delete;
    pacer& operator=(const pacer&) = delete;

    void begin() noexcept { // release: the words of all threads, for look()
        begun_.store(true, std::memory_order_release);
    }
    void stop() noexcept { clock_.stop(); } ///< no signal is sent any more

    // ---- in the runtime, by the thread that runs the worker
    void work_begins(thread_worker&) noexcept; ///< pauses for what it has used too much before
    void work_ends(thread_worker& w) noexcept { charge(w); }
    void thread_comes(thread_worker&) noexcept;
    void charge(thread_worker&) noexcept;

    // ---- in the handler
    void pause(thread_worker&) noexcept;

    int cpu_of(int core) const noexcept { return speeds_.cpus[static_cast<std::size_t>(core)]; }
    const std::vector<double>& asked_speeds() const noexcept { return speeds_.speeds; }
    double scale() const noexcept { return speeds_.scale; }
    std::uint64_t signals() const noexcept {
        return signals_.load(std::memory_order_relaxed);
    } ///< sent so far

    /// In the calling thread, whichever mask it has inherited.
    static void allow_signal() noexcept;

private:
    static constexpr time_ns period = 1'000'000;
    static constexpr time_ns shortest_pause = 50'000; ///< below this, sleeping takes longer than is asked for
    struct seen {
        pthread_t thread{};
        time_ns cpu = 0, at = 0;
    };

    double share_of(const thread_worker&) const noexcept;
    void look(time_ns now) noexcept; ///< in the clock's thread
    void signal_if_it_runs(thread_worker&, time_ns now) noexcept;
    static void wait_until(time_ns due) noexcept;

    thread_engine& of_;
    const emulated_speeds& speeds_;
    std::atomic<bool> begun_{false};
    std::atomic<std::uint64_t> signals_{0};
    std::vector<seen> last_; ///< by worker; of the clock's thread
    work_clock clock_;
};

} // namespace weft::engine
