// What the machine itself does, without weft: from pthread_kill to the handler on a spinning thread of the
// other core, and from a futex wake to the woken thread. The latencies of the runtime contain these.
//   samples=40
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>
#include <vector>

namespace {

std::atomic<std::int64_t> handled{0};

std::vector<double> signals(int samples) {
    struct sigaction action{};
    action.sa_handler = [](int) { handled = bench::now_ns(); };
    sigaction(SIGUSR1, &action, nullptr);
    std::atomic<bool> stop{false};
    std::thread spinner([&] {
        while (!stop) {}
    });
    std::vector<double> us;
    for (int i = 0; i < samples; ++i) {
        bench::spin_ns(300'000);
        handled = 0;
        const auto sent = bench::now_ns();
        pthread_kill(spinner.native_handle(), SIGUSR1);
        while (handled == 0) {}
        us.push_back(static_cast<double>(handled - sent) * 1e-3);
    }
    stop = true;
    spinner.join();
    return us;
}

std::vector<double> wakes(int samples) {
    std::mutex m;
    std::condition_variable told;
    bool asked = false, stop = false;
    std::atomic<std::int64_t> woken{0};
    std::thread sleeper([&] {
        std::unique_lock lock(m);
        for (;;) {
            told.wait(lock, [&] { return asked; });
            woken = bench::now_ns();
            asked = false;
            if (stop) return;
        }
    });
    std::vector<double> us;
    const auto wake = [&] {
        woken = 0;
        const auto sent = bench::now_ns();
        {
            const std::lock_guard lock(m);
            asked = true;
        }
        told.notify_one();
        while (woken == 0) {}
        us.push_back(static_cast<double>(woken - sent) * 1e-3);
    };
    for (int i = 0; i < samples; ++i) {
        bench::spin_ns(1'000'000);
        wake();
    }
    {
        const std::lock_guard lock(m);
        stop = true;
    }
    wake();
    us.pop_back();
    sleeper.join();
    return us;
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const int samples = given.number("samples", 40);
        s.with_both_cores([&] {
            s.add("signal_us", signals(samples));
            s.add("wake_us", wakes(samples));
        });
    });
}
