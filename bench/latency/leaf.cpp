// How long is work hidden beside a leaf that never polls? A join whose first closure spins and calls nothing
// of the runtime; from its first instruction (the frame was linked just before) to the start of the second
// closure elsewhere.
//   scenario=searching   the idle worker is awake and looking for work
//   scenario=later       it becomes idle long after the frame was linked; from there on
//   scenario=parked      it went to sleep before the frame was linked
//   scenario=two         two idle workers asleep, two frames linked: until both have started
//   scenario=runtime     the idle worker asks while this one is in the runtime, spawning
//   samples=40
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

using bench::now_ns;
// A sample in which a thread of this process was ready and had no core for so long measures its neighbours:
// taken again, a bounded number of times. Not so where there are more workers than cores: that wait is the
// scenario's own.
constexpr double may_wait_ns = 30'000;
constexpr std::int64_t give_up_ns = 50'000'000;

/// When the second closures started, and whether the leaf was still spinning then.
struct shared_work {
    const std::int64_t linked = now_ns();
    std::array<std::atomic<std::int64_t>, 2> started{};
    std::atomic<bool> leaf_is_over{false};

    void leaf(std::size_t seconds) {
        const auto end = linked + give_up_ns;
        const auto waiting = [&] {
            return std::any_of(started.begin(), started.begin() + seconds, [](auto& t) { return t == 0; });
        };
        while (waiting() && now_ns() < end) {}
        leaf_is_over = true;
    }
    void second(std::size_t i) {
        if (!leaf_is_over) started[i] = now_ns();
    }
    double microseconds(std::size_t seconds) const {
        std::int64_t last = 0;
        for (std::size_t i = 0; i < seconds; ++i) {
            if (started[i] == 0) return give_up_ns * 1e-3; // never shared
            last = std::max(last, started[i].load());
        }
        return static_cast<double>(last - linked) * 1e-3;
    }
};

double one_frame() {
    shared_work w;
    weft::join([&] { w.leaf(1); }, [&] { w.second(0); });
    return w.microseconds(1);
}

double two_frames() {
    shared_work w;
    weft::join([&] { weft::join([&] { w.leaf(2); }, [&] { w.second(1); }); }, [&] { w.second(0); });
    return w.microseconds(2);
}

/// Gives the idle worker something to do, so that it looks for more; then `i` tells how long it has looked.
double searching(int i) {
    static_cast<void>(one_frame());
    bench::spin_ns(i % 10 * 7'000);
    return one_frame();
}

/// The idle worker gets the outer frame, is busy with it for a while, and only then looks for the inner one.
double later(int) {
    shared_work w;
    std::int64_t idle = 0;
    weft::join([&] { weft::join([&] { w.leaf(1); }, [&] { w.second(0); }); },
               [&] {
                   bench::spin_ns(150'000);
                   idle = now_ns();
               });
    return w.microseconds(1) - static_cast<double>(idle - w.linked) * 1e-3;
}

double parked(int) {
    bench::spin_ns(2'000'000); // patience is 100 us
    return one_frame();
}

double two(int) {
    bench::spin_ns(2'000'000);
    return two_frames();
}

/// The flag of the idle worker is answered by the spawns themselves; what is left is to meet one between
/// them.
double in_runtime(int i) {
    weft::task_group g;
    for (int k = 0; k < 500 + 37 * (i % 40); ++k) g.run([] {});
    const double us = one_frame();
    g.wait();
    return us;
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const std::string scenario = given.text("scenario", "parked");
        const int samples = given.number("samples", 40);
        double (*measure)(int) = scenario == "searching" ? searching
                                 : scenario == "later"   ? later
                                 : scenario == "parked"  ? parked
                                 : scenario == "two"     ? two
                                 : scenario == "runtime" ? in_runtime
                                                         : nullptr;
        if (!measure)
            throw bench::usage_error("scenario=" + scenario +
                                     "; allowed: searching, later, parked, two, runtime");
        s.with_both_cores([&] {
            const int workers = scenario == "two" ? 3 : 2;
            const bool oversubscribed = static_cast<std::size_t>(workers) > bench::both_cores().count();
            weft::runtime rt(bench::with_workers(workers));
            std::vector<double> us;
            int disturbed = 0;
            rt.run([&] {
                for (int i = -2; i < samples; ++i) {
                    const double before = bench::run_delay_ns();
                    const double t = measure(i + 2);
                    const bool had_its_cores = oversubscribed || bench::run_delay_ns() - before < may_wait_ns;
                    if (i < 0) continue;
                    if (had_its_cores || disturbed == 2 * samples)
                        us.push_back(t);
                    else
                        ++disturbed, --i;
                }
            });
            s.add("us", us);
            s.add("disturbed", disturbed);
        });
    });
}
