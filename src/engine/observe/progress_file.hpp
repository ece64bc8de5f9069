#pragma once

#include "engine/observe/tally.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include <pthread.h>

namespace weft::engine {

/// How an engine's workers are getting on, in a file that others map: docs/progress-format.md. A thread of
/// its own copies their counters every 100 ms; workers know nothing of it.
class progress_file {
public:
    /// Throws weft::error if there can be no such file, or no thread. Nothing is copied before begin().
    progress_file(const std::string& path, const engine&, bool is_virtual);
    ~progress_file(); ///< finish()
    progress_file(const progress_file&) = delete;
    progress_file& operator=(const progress_file&) = delete;

    /// The engine's workers are there.
    void begin() noexcept;
    /// Copies once more and says that it is over. No thread of it is left.
    void finish() noexcept;

private:
    using word = std::atomic<std::uint64_t>;

    void run() noexcept;
    void refresh(std::uint64_t state) noexcept;

    const engine& engine_;
    const std::size_t bytes_;
    std::span<word> words_{}; ///< of the file, behind its head
    std::int64_t made_ = 0;   ///< steady_clock
    time_ns epoch_ = 0;       ///< engine time then
    tally counted_{};         ///< of who refreshes: the thread, then finish()

    std::mutex waiting_;
    std::condition_variable changed_;
    bool began_ = false, stopping_ = false; ///< under waiting_
    bool finished_ = false;
    pthread_t thread_{};
};

} // namespace weft::engine
