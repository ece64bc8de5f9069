#pragma once

namespace weft::engine {

struct thread_engine;

/// While it exists, the number of active workers of the engine follows, once a second, the number of cores
/// that its threads may run on and the processor quota of the process allow. One thread of the process does
/// so for all engines; it starts with the first follower and ends with the last. If it cannot be created, the
/// number stays.
class core_count_follower {
public:
    explicit core_count_follower(thread_engine&);
    ~core_count_follower();
    core_count_follower(const core_count_follower&) = delete;
    core_count_follower& operator=(const core_count_follower&) = delete;

private:
    friend struct monitor_thread;
    thread_engine& of_;
    core_count_follower* next_ = nullptr; // in the list of all; guarded by process_lock()
};

/// For the child of a fork(), which has neither the thread nor the engines. Requires: process_lock() is held.
void forget_core_count_followers() noexcept;

} // namespace weft::engine
