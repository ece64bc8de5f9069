// What preemption costs tasks that compute and wait for nobody: ten for each worker, at a short interval. Compared with the
// same tasks without a type, in turns: `ticks` (the signals come, and each finds a guard: the bare timer), `yield`, `klt`.
//   workers=2 tasks=10 ms=40 interval_us=1000 timer=aligned park=futex_local rounds=6
// Tasks are long beside the time that it takes to make their kernel threads, which come once for each.
//
//   S. Shiina: Efficient Thread Scheduling Strategies for Nested Parallel Programs. 2021, section 3.2.3, figure 3.7.
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"
#include "paired.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace {

[[gnu::noinline]] std::uint64_t compute(std::uint64_t x, std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) x = x * 6364136223846793005u + (x >> 33);
    return x;
}

/// So many tasks, and how many of them were under way at once at most.
class burning {
public:
    burning(int tasks, std::uint64_t steps, std::uint64_t right)
        : tasks_(tasks)
        , steps_(steps)
        , right_(right) {}

    void run(weft::runtime& rt, weft::preemption type, bool guarded) {
        rt.run([&] {
            weft::task_group g;
            for (int i = 0; i < tasks_; ++i)
                g.run(
                    [this, guarded] {
                        if (!guarded) return one();
                        const weft::preemption_guard from_ticks;
                        one();
                    },
                    {.preempt = type});
            g.wait();
        });
    }
    bool is_right() const { return wrong_ == 0; }
    int most_at_once() { return most_.exchange(0); }

private:
    void one() {
        const int now = ++under_way_;
        for (int most = most_; most < now && !most_.compare_exchange_weak(most, now);) {}
        wrong_ += compute(1, steps_) != right_;
        --under_way_;
    }
    const int tasks_;
    const std::uint64_t steps_, right_;
    std::atomic<int> under_way_{0}, most_{0}, wrong_{0};
};

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const int workers = given.number("workers", 2), tasks = workers * given.number("tasks", 10);
        const int rounds = given.number("rounds", 6), ms = given.number("ms", 40);
        const int interval = given.number("interval_us", 1000);
        weft::runtime_options o = bench::with_workers(workers);
        o.preempt = "off:interval=" + std::to_string(interval) +
                    "us,timer=" + given.text("timer", "aligned") +
                    ",park=" + given.text("park", "futex_local");
        if (given.text("timer", "") == "hybrid") o.preempt += ",groups=" + given.text("groups", "2");
        o.pin = "compact";
        weft::runtime rt(o);

        constexpr std::uint64_t probe = 1'000'000;
        std::uint64_t kept = 1;
        const double ns = bench::best_ns(5, [&] { kept = compute(kept, probe); }) / probe;
        bench::keep(kept);
        const auto steps = static_cast<std::uint64_t>(ms * 1e6 / ns);
        burning all(tasks, steps, compute(1, steps));

        int most[4] = {};
        const auto variant = [&](const char* name, int index, weft::preemption type, bool guarded) {
            return bench::variant{name, [&all, &rt, &most, index, type, guarded] {
                                      all.run(rt, type, guarded);
                                      most[index] = std::max(most[index], all.most_at_once());
                                  }};
        };
        const std::vector<bench::variant> variants = {variant("off", 0, weft::preemption::off, false),
                                                      variant("ticks", 1, weft::preemption::yield, true),
                                                      variant("yield", 2, weft::preemption::yield, false),
                                                      variant("klt", 3, weft::preemption::klt, false)};
        s.with_both_cores([&] { bench::add_slowdowns(s, variants, bench::paired_times(variants, rounds)); });
        s.check(all.is_right());
        // If the interval is shorter than a task, tasks of the two types are preempted, and the others are not.
        if (interval < 1000 * ms && workers > 1) {
            s.check(most[0] <= workers && most[1] <= workers);
            s.check(most[2] > workers && most[3] > workers);
        }
    });
}
