#pragma once

#include "engine/observe/busy_parts.hpp"
#include "engine/observe/tally.hpp"
#include "engine/threads/thread_usage.hpp"
#include "queue/spin_lock.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::engine {

struct thread_engine;
struct thread_worker;

/// The account of an engine's runs for its report: what the workers counted and what the kernel counted, in each run, in all
/// of them, and between them. One object for an engine that has a report; without it nothing here is done.
///
/// The kernel's counts are read at the beginning of the first run and at the end of the engine, when an external thread
/// comes to a worker and leaves it, around the sleeps of the workers, and at both ends of a run while that takes
/// little time. Between those moments the workers do nothing for it.
class run_account {
public:
    explicit run_account(thread_engine& of);

    /// The own thread of a worker is to run it.
    void thread_begins(thread_worker&) noexcept;
    /// The calling thread, which is external, is to run the worker, or has run it.
    void visitor_comes(thread_worker&) noexcept;
    void visitor_leaves(thread_worker&) noexcept;

    /// observation
    void root_begins();
    bool run_continues();
    void root_ended();

    /// The workers' threads are about to end: what the kernel has counted of them is read for the last time.
    void threads_end() noexcept;
    std::string describe(bool as_json);

private:
    struct threads_of_worker {
        thread_usage own{}, visitor{};
        bool is_visited = false;
        kernel_count of_visits{.queued = 0}; ///< of the visits that have ended
        kernel_count came{};                 ///< of the visitor, when it came
    };
    struct process_count {
        std::uint64_t minor_faults = 0, major_faults = 0, voluntary_switches = 0, involuntary_switches = 0;
        time_ns cpu = 0;
    };
    using kernel_counts = std::vector<kernel_count>;

    static process_count read_process() noexcept;
    static time_ns process_cpu() noexcept;
    time_ns open_wait(std::size_t worker) const noexcept;
    kernel_count read_kernel(std::size_t worker) const noexcept;
    /// Empty if it would take too large a part of the time, or the counts would mean nothing.
    kernel_counts read_kernel_for_run();
    kernel_counts read_kernel() const;
    void add_to_total(const tally& run);
    void read_last();
    bool kernel_is_understood() const noexcept;
    std::vector<busy_parts> parts_of_total(const tally& all, const tally& window) const;

    thread_engine& of_;
    /// A thread that waits for another one has to wait for a report to be noted, and sleeping would take ten times as long:
    /// the caller of a region of OpenMP begins the next one while the last member ends the run.
    queue::spin_lock<> counting_;
    // ---- all that follows: under counting_
    std::vector<threads_of_worker> threads_;
    int open_roots_ = 0;
    std::uint64_t runs_ = 0; ///< that have begun
    bool threads_ended_ = false;
    time_ns spent_reading_ = 0;
    // ---- the present run: from the first of the open roots to the end of the last one
    tally at_begin_{};
    kernel_counts kernel_at_begin_{}; ///< empty: not read
    // ---- the last run that has ended
    tally at_end_{};
    time_ns recorded_until_ = 0; ///< its report was made then
    time_ns cpu_at_end_ = 0;     ///< processor time of the process then
    // ---- all runs
    tally first_{};
    kernel_counts kernel_at_first_{};
    process_count process_at_first_{};
    tally total_{}; ///< over the runs that have ended
    time_ns outside_ = 0, recording_ = 0;
    time_ns outside_cpu_ =
        0; ///< processor time of the process in `outside_`, without that of searching workers
    time_ns outside_process_cpu_ = 0;
    // ---- the last reading
    tally last_{};
    kernel_counts kernel_at_last_{};
    process_count process_at_last_{};
};

} // namespace weft::engine
