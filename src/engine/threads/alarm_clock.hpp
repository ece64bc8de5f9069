#pragma once

#include "engine/ports/timers.hpp"

#include <boost/intrusive/set.hpp>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

namespace weft::engine {

struct host;

/// The timers of one engine: a thread, started with the first timer or before tasks are preempted, that sleeps until the next one is due.
/// Timers fire on that thread, under its lock, so cancel_timer() cannot overtake a timer that is firing.
class alarm_clock final : public timers {
public:
    explicit alarm_clock(const host& of) noexcept : of_(of) {}
    ~alarm_clock() { stop(); }
    alarm_clock(const alarm_clock&) = delete;
    alarm_clock& operator=(const alarm_clock&) = delete;

    void start();                    ///< creates the thread if there is none; throws weft::error if it cannot
    void set_timer(timer&) override; ///< as start()
    void cancel_timer(timer&) noexcept override;
    void stop() noexcept;           ///< when it returns the thread has ended, and no timer fires any more
    std::size_t pending() noexcept; ///< timers that were neither cancelled nor fired

private:
    struct earlier {
        bool operator()(const timer& a, const timer& b) const noexcept { return a.at < b.at; }
    };
    using timers_by_time = boost::intrusive::multiset<
        timer, boost::intrusive::compare<earlier>,
        boost::intrusive::member_hook<timer, boost::intrusive::set_member_hook<>, &timer::link>>;
    void start_locked();
    void run();

    const host& of_;
    std::mutex mutex_;
    std::condition_variable changed_;
    timers_by_time pending_; // guarded by mutex_, as is the next one
    bool stopping_ = false;
    std::thread thread_;
};

} // namespace weft::engine
