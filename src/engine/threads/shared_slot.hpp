#pragma once

#include "engine/observe/tally.hpp"
#include "share/slot_writer.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include <pthread.h>

namespace weft::engine {

struct thread_engine;

/// The engine's slot in a table of the programs on this machine (WEFT_SHARE). A thread of this object publishes once a
/// period what the workers have counted, and makes as many of them active as the table wishes; the workers do nothing for it.
class shared_slot {
public:
    /// Throws weft::error if the thread cannot be created.
    shared_slot(thread_engine&, share::slot_writer);
    ~shared_slot(); ///< ends the thread, and publishes that the runtime is over
    shared_slot(const shared_slot&) = delete;
    shared_slot& operator=(const shared_slot&) = delete;

private:
    void run() noexcept;
    void publish(bool is_over) noexcept;

    thread_engine& of_;
    share::slot_writer slot_; ///< used by the thread, then by the destructor
    tally counted_{};         ///< likewise
    const time_ns began_;     ///< engine time
    std::int64_t busy_ =
        0; ///< ns, as published: workers that change between idle and busy never make it less
    std::mutex waiting_;
    std::condition_variable changed_;
    bool stopping_ = false; ///< under waiting_
    pthread_t thread_{};
};

} // namespace weft::engine
