#pragma once

namespace weft::engine {

struct thread_engine;

/// As long as it lives, once a second: the engine's active workers are as many as the cores that its threads
/// may run on and the processor quota of the process allow. One thread a process does it for all; it starts
/// with the first follower and ends with the last. Where no thread can be had, nothing is followed.
class follower {
public:
    explicit follower(thread_engine&);
    ~follower();
    follower(const follower&) = delete;
    follower& operator=(const follower&) = delete;

private:
    friend struct monitor;
    thread_engine& of_;
    follower* next_ = nullptr; // of the list, guarded by process_lock()
};

/// For the child of a fork(), under process_lock(): the thread is not there, nor are the engines.
void forget_followers() noexcept;

} // namespace weft::engine
