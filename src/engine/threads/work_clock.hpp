#pragma once

#include "engine/threads/futex.hpp"
#include "task/task.hpp"

#include <atomic>
#include <cstdint>
#include <thread>

namespace weft::engine {

struct thread_engine;

/// A thread that acts at the multiples of a period, while some worker runs a task: for the ticks of a policy, and for emulated
/// speeds. While no worker runs one, the thread sleeps for as long as it takes: an idle engine uses no processor time.
///
/// A worker that begins to work says so, passes a fence, and wakes the thread (S7).
class work_clock {
public:
    using action = void (*)(void* with, time_ns now);
    /// `whose`: for the weft::error that it throws if the thread cannot be created. The first action may come before this returns.
    /// `rests`: called each time before the thread sleeps because no worker works; null: nothing is.
    work_clock(thread_engine& of, time_ns period, action, void* with, const char* whose,
               action rests = nullptr);
    ~work_clock() { stop(); }
    work_clock(const work_clock&) = delete;
    work_clock& operator=(const work_clock&) = delete;

    void work_begins() noexcept { parker_.wake(); } ///< after `working` was set, and a fence
    void stop() noexcept; ///< when it returns no action runs any more, and none will

private:
    void run() noexcept;
    bool some_worker_works() const noexcept;
    void rest() noexcept;
    void wait_until(time_ns) noexcept;
    bool is_stopping() const noexcept {
        return stopping_.load(std::memory_order_acquire) != 0; // pairs with stop()
    }

    thread_engine& of_;
    const time_ns period_;
    const action act_, rests_;
    void* const with_;
    futex_parker parker_;
    std::atomic<std::uint32_t> stopping_{0}; ///< a futex; written by stop()
    std::thread thread_;
};

} // namespace weft::engine
