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

/// The progress of an engine's workers, in a file that other processes map: docs/progress-format.md. A thread
/// of this object copies the workers' counters every 100 ms; the workers do nothing for it.
class progress_file {
public:
    /// Throws weft::error if the file or the thread cannot be made. Nothing is copied before begin().
    progress_file(const std::string& path, const engine&, bool is_virtual);
    ~progress_file(); ///< calls finish()
    progress_file(const progress_file&) = delete;
    progress_file& operator=(const progress_file&) = delete;

    /// The engine's workers have begun: starts the copying.
    void begin() noexcept;
    /// Copies a last time, marks the file as over and ends the thread.
    void finish() noexcept;

private:
    using word = std::atomic<std::uint64_t>;

    void run() noexcept;
    void refresh(std::uint64_t state) noexcept;

    const engine& engine_;
    const std::size_t bytes_;
    std::span<word> words_{}; ///< the words of the file behind its head
    std::int64_t made_ = 0;   ///< steady_clock
    time_ns epoch_ = 0;       ///< engine time when the object was made
    tally counted_{};         ///< used by the caller of refresh(): the thread, then finish()

    std::mutex waiting_;
    std::condition_variable changed_;
    bool began_ = false, stopping_ = false; ///< under waiting_
    bool finished_ = false;
    pthread_t thread_{};
};

} // namespace weft::engine
