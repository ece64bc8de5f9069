#include "engine/threads/alarm_clock.hpp"

#include "engine/ports/host.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>

namespace weft::engine {

void alarm_clock::stop() noexcept {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
}

void alarm_clock::start() {
    const std::lock_guard lock(mutex_);
    start_locked();
}

void alarm_clock::start_locked() {
    if (thread_.joinable()) return;
    try {
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& failure) {
        throw error(fmt::format("cannot create the thread of the timers ({})", failure.what()),
                    "a wait with a limit of time, or a sleep",
                    "waits without a limit, or a larger limit of threads or memory for this process");
    }
}

void alarm_clock::set_timer(timer& t) {
    const std::lock_guard lock(mutex_);
    start_locked();
    pending_.insert(t);
    if (&*pending_.begin() == &t) changed_.notify_one();
}

void alarm_clock::cancel_timer(timer& t) noexcept {
    const std::lock_guard lock(mutex_);
    if (t.link.is_linked()) pending_.erase(pending_.iterator_to(t)); // else it has fired
}

std::size_t alarm_clock::pending() noexcept {
    const std::lock_guard lock(mutex_);
    return pending_.size();
}

void alarm_clock::run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        if (pending_.empty()) {
            changed_.wait(lock);
            continue;
        }
        timer& next = *pending_.begin();
        const time_ns left = next.at - of_.now();
        if (left > 0) {
            changed_.wait_for(lock, std::chrono::nanoseconds(left));
            continue;
        }
        pending_.erase(pending_.begin());
        next.fire(next);
    }
}

} // namespace weft::engine
