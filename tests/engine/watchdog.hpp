#pragma once

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include <unistd.h>

namespace weft::test {

/// Tells what was running when the process crashes, or makes no step for some time. One at a time.
class watchdog {
public:
    explicit watchdog(std::chrono::seconds patience = std::chrono::seconds(90)) : patience_(patience) {
        for (const int s : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) std::signal(s, report_signal);
        thread_ = std::thread([this] { watch(); });
    }
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;
    ~watchdog() {
        {
            const std::lock_guard lock(mutex_);
            done_ = true;
        }
        wake_.notify_one();
        thread_.join();
    }
    void now(const std::string& what) {
        const std::lock_guard lock(mutex_);
        std::snprintf(doing, sizeof doing, "%s", what.c_str());
        ++steps_;
    }

private:
    static inline char doing[512];

    static void report_signal(int s) {
        const auto say = [](const char* text) {
            static_cast<void>(!::write(2, text, std::char_traits<char>::length(text)));
        };
        say("\ncrashed in: "), say(doing), say("\n");
        std::signal(s, SIG_DFL);
        std::raise(s);
    }
    void watch() {
        std::unique_lock lock(mutex_);
        for (auto seen = steps_; !wake_.wait_for(lock, patience_, [&] { return done_; }); seen = steps_)
            if (seen == steps_) {
                std::fprintf(stderr, "\nhangs in: %s\n", doing);
                std::abort();
            }
    }

    const std::chrono::seconds patience_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool done_ = false;
    unsigned long steps_ = 0;
    std::thread thread_;
};

} // namespace weft::test
