#include "calibrate/hardware.hpp"

#include "calibrate/timing.hpp"

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace weft::calibrate {

namespace {

constexpr int samples = 40;

void spin_ns(std::int64_t ns) noexcept {
    for (const auto end = now_ns() + ns; now_ns() < end;) {}
}

std::atomic<std::int64_t> handled{0};

/// A signal that this program does not use, with a handler of ours while this object lives.
class borrowed_signal {
public:
    borrowed_signal() {
        struct sigaction now{};
        if (sigaction(number(), nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 ||
            now.sa_handler != SIG_DFL)
            return;
        struct sigaction ours{};
        ours.sa_handler = [](int) { handled.store(now_ns(), std::memory_order_relaxed); };
        is_ours_ = sigaction(number(), &ours, &before_) == 0;
    }
    ~borrowed_signal() {
        if (is_ours_) sigaction(number(), &before_, nullptr);
    }
    borrowed_signal(const borrowed_signal&) = delete;
    borrowed_signal& operator=(const borrowed_signal&) = delete;

    static int number() noexcept { return SIGRTMAX - 1; }
    bool is_ours() const noexcept { return is_ours_; }

private:
    bool is_ours_ = false;
    struct sigaction before_{};
};

/// From sending a signal to a thread that computes on another core to its handler.
std::optional<double> signal_ns() {
    const borrowed_signal signal;
    if (!signal.is_ours()) return std::nullopt;
    std::atomic<bool> stop{false};
    std::thread spinner([&] {
        sigset_t its;
        sigemptyset(&its);
        sigaddset(&its, borrowed_signal::number());
        pthread_sigmask(SIG_UNBLOCK, &its, nullptr);
        while (!stop.load(std::memory_order_relaxed)) {}
    });
    std::vector<double> all;
    for (int i = 0; i < samples; ++i) {
        spin_ns(200'000);
        handled.store(0, std::memory_order_relaxed);
        const auto sent = now_ns();
        pthread_kill(spinner.native_handle(), borrowed_signal::number());
        while (handled.load(std::memory_order_relaxed) == 0) {}
        all.push_back(static_cast<double>(handled.load(std::memory_order_relaxed) - sent));
    }
    stop.store(true, std::memory_order_relaxed);
    spinner.join();
    return undisturbed(all);
}

struct wake_times {
    std::vector<double> until_woken; ///< from the call until the sleeper runs
    std::vector<double> of_call;     ///< of the waking thread
};

wake_times wakes() {
    std::mutex m;
    std::condition_variable told;
    bool asked = false, stop = false; // guarded by m
    std::atomic<std::int64_t> woken{0};
    std::thread sleeper([&] {
        std::unique_lock lock(m);
        while (!stop) {
            told.wait(lock, [&] { return asked; });
            woken.store(now_ns(), std::memory_order_relaxed);
            asked = false;
        }
    });
    wake_times times;
    for (int i = 0; i <= samples; ++i) {
        spin_ns(500'000); // it sleeps
        woken.store(0, std::memory_order_relaxed);
        const auto sent = now_ns();
        {
            const std::lock_guard lock(m);
            asked = true;
            stop = i == samples;
        }
        told.notify_one();
        times.of_call.push_back(static_cast<double>(now_ns() - sent));
        while (woken.load(std::memory_order_relaxed) == 0) {}
        times.until_woken.push_back(static_cast<double>(woken.load(std::memory_order_relaxed) - sent));
    }
    sleeper.join();
    return times;
}

} // namespace

figure_values measure_system(const machine& here) {
    figure_values values;
    if (here.physical_cores() < 2) return values;
    const wake_times w = wakes();
    values["charges.wake_ns"] = undisturbed(w.of_call);
    values["charges.woken_ns"] = undisturbed(w.until_woken);
    if (const auto ns = signal_ns()) values["charges.signal_ns"] = *ns;
    return values;
}

} // namespace weft::calibrate
