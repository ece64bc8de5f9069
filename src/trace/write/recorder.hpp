#pragma once

#include "trace/write/clock.hpp"
#include "trace/write/event_sink.hpp"
#include "trace/write/names.hpp"
#include "trace/write/record.hpp"
#include "trace/write/trace_file.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pthread.h>

namespace weft::trace {

class log;

/// Collects the events of an engine's workers and writes them to a file. A thread of its own does so every
/// 20 ms and whenever a log is a quarter full. Where time is virtual there is no such thread.
class recorder {
public:
    /// `header`: a JSON object for the file. `virtual_time`: in nanoseconds, if the engine's time is virtual;
    /// else null. Throws weft::error if the file or the thread cannot be made.
    recorder(const std::string& file, std::string_view header, int workers,
             const std::atomic<std::int64_t>* virtual_time = nullptr);
    /// Gives the events to `to` as they happen, and writes no file. The engine has one worker.
    recorder(event_sink& to, const std::atomic<std::int64_t>* virtual_time);
    ~recorder(); ///< calls finish()
    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;

    log& of(int worker) noexcept { return *logs_[static_cast<std::size_t>(worker)]; }
    /// For threads that are not workers: calls use(log) with their common log, one thread at a time.
    template <class Use>
    auto outside(Use&& use) {
        const std::lock_guard guard(others_);
        return use(*logs_.back());
    }
    std::uint32_t name(std::string_view text, code_address code = 0) noexcept {
        return names_.number(text, code);
    }
    /// Calls each(number, name, code) for all of them.
    template <class Each>
    void each_name(Each&& each) {
        names_.after(0, each);
    }

    /// The first of `count` consecutive numbers for tasks. Any thread may call it.
    std::uint32_t new_tasks(std::uint32_t count) noexcept {
        return next_task_.fetch_add(count, std::memory_order_relaxed); // numbers only: relaxed
    }

    /// Writes the events that are left and the end of the file. The workers must have stopped.
    void finish() noexcept;

private:
    friend class log;

    std::uint64_t ticks() const noexcept {
        return virtual_time_ ? static_cast<std::uint64_t>(virtual_time_->load(std::memory_order_relaxed))
                             : clock_.ticks();
    }
    void poke() noexcept;
    void run() noexcept;
    void drain() noexcept; ///< one thread at a time
    void write_names();    ///< those that are new

    const std::atomic<std::int64_t>* const virtual_time_;
    const event_clock clock_;
    std::optional<trace_file> file_; ///< none: a sink gets the events
    names names_;
    std::vector<std::unique_ptr<log>> logs_; ///< of the workers, then that of all other threads
    std::mutex others_;
    std::atomic<std::uint32_t> next_task_{1};

    // Used by the thread that drains.
    time_line line_;           ///< through the moments of the drains
    const std::int64_t epoch_; ///< the moment that the file calls 0
    std::uint32_t named_ = 0;  ///< names up to this number are in the file
    std::vector<record> batch_;
    bool finished_ = false;

    pthread_t thread_{};
    bool has_thread_ = false;
    std::atomic<std::uint32_t> call_{0}; ///< futex; 1: a log fills, 2: stop
};

} // namespace weft::trace
