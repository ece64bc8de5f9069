// The time of one preemption: from the last moment of a thread to the first one of the thread that follows it on the same
// core. Two POSIX threads, between which the kernel switches when a slice is over; two tasks that yield on one worker; two
// that keep their kernel threads. In turns.
//   switches=100 rounds=5 interval_us=1000
//
//   S. Shiina: Efficient Thread Scheduling Strategies for Nested Parallel Programs. 2021, table 3.1.
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sched.h>

namespace {

/// Both threads write the time again and again. Only one of them runs at a time.
class stamps {
public:
    explicit stamps(std::size_t switches) : switches_(switches) { us_.reserve(switches + 1); }

    void write_as(int me) {
        come_.fetch_add(1, std::memory_order_relaxed);
        while (come_.load(std::memory_order_relaxed) < 2) {} // until a tick lets the other one come
        while (us_.size() < switches_) {
            const auto now = bench::now_ns();
            if (owner_ != me && now > last_) us_.push_back(static_cast<double>(now - last_) * 1e-3);
            owner_ = me;
            last_ = now;
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
    }
    std::vector<double> take() { return std::move(us_); }

private:
    const std::size_t switches_;
    std::atomic<int> come_{0};
    volatile int owner_ = 0;
    volatile std::int64_t last_ = bench::now_ns();
    std::vector<double> us_;
};

std::size_t first_core() {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
    std::size_t core = 0;
    while (!CPU_ISSET(core, &allowed)) ++core;
    return core;
}

std::vector<double> of_the_kernel(std::size_t switches) {
    stamps all(switches);
    const auto write = [&](int me) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first_core(), &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
        all.write_as(me);
    };
    std::thread a(write, 1), b(write, 2);
    a.join();
    b.join();
    return all.take();
}

std::vector<double> of_weft(const std::string& how, std::size_t switches) {
    stamps all(switches);
    weft::runtime_options o = bench::with_workers(1);
    o.preempt = how;
    o.pin = "compact";
    weft::runtime rt(o);
    rt.run([&] {
        weft::task_group g;
        for (const int me : {1, 2}) g.run([&all, me] { all.write_as(me); });
        g.wait();
    });
    return all.take();
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const auto switches = static_cast<std::size_t>(given.number("switches", 100));
        const std::string interval = ":interval=" + given.text("interval_us", "1000") + "us";
        const std::string park = ",park=" + given.text("park", "futex_local");
        std::vector<double> us[3];
        s.with_both_cores([&] {
            for (int round = 0; round < given.number("rounds", 5); ++round)
                for (std::size_t k = 0; k < 3; ++k) {
                    const auto got = k == 0   ? of_the_kernel(switches)
                                     : k == 1 ? of_weft("yield" + interval, switches)
                                              : of_weft("klt" + interval + park, switches);
                    s.check(got.size() >= switches);
                    us[k].insert(us[k].end(), got.begin(), got.end());
                }
            s.add("kernel", us[0]);
            s.add("yield", us[1]);
            s.add("klt", us[2]);
        });
    });
}
