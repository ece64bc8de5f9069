// What the machine does without weft: from pthread_kill to the handler on a spinning thread of another core,
// and from a futex wake to the woken thread.
#pragma once

#include "../common/timing.hpp"

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace bench {

inline std::atomic<std::int64_t> handled{0};

/// Microseconds from sending to handling.
inline std::vector<double> signals(int samples) {
    struct sigaction action{};
    action.sa_handler = [](int) { handled = now_ns(); };
    sigaction(SIGUSR1, &action, nullptr);
    std::atomic<bool> stop{false};
    std::thread spinner([&] {
        while (!stop) {}
    });
    std::vector<double> us;
    for (int i = 0; i < samples; ++i) {
        spin_ns(300'000);
        handled = 0;
        const auto sent = now_ns();
        pthread_kill(spinner.native_handle(), SIGUSR1);
        while (handled == 0) {}
        us.push_back(static_cast<double>(handled - sent) * 1e-3);
    }
    stop = true;
    spinner.join();
    return us;
}

struct wake_times {
    std::vector<double> until_woken_us; ///< from the call until the sleeper runs
    std::vector<double> of_call_us;     ///< of the waking thread
};

inline wake_times wakes(int samples) {
    std::mutex m;
    std::condition_variable told;
    bool asked = false, stop = false;
    std::atomic<std::int64_t> woken{0};
    std::thread sleeper([&] {
        std::unique_lock lock(m);
        for (;;) {
            told.wait(lock, [&] { return asked; });
            woken = now_ns();
            asked = false;
            if (stop) return;
        }
    });
    wake_times us;
    const auto wake = [&] {
        woken = 0;
        const auto sent = now_ns();
        {
            const std::lock_guard lock(m);
            asked = true;
        }
        told.notify_one();
        us.of_call_us.push_back(static_cast<double>(now_ns() - sent) * 1e-3);
        while (woken == 0) {}
        us.until_woken_us.push_back(static_cast<double>(woken - sent) * 1e-3);
    };
    for (int i = 0; i < samples; ++i) {
        spin_ns(1'000'000);
        wake();
    }
    {
        const std::lock_guard lock(m);
        stop = true;
    }
    wake();
    us.until_woken_us.pop_back();
    us.of_call_us.pop_back();
    sleeper.join();
    return us;
}

} // namespace bench
