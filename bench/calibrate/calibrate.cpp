// What the runtime's own work takes here, as the sections [charges] and [steal] of a machine file: for models
// of this machine, or of one like it. About five seconds; everything is the median of several rounds.
//
//   calibrate > charges.toml
#include "../common/both_cores.hpp"
#include "../common/runtimes.hpp"
#include "../control/kernel.hpp"
#include "../fork/fib.hpp"

#include "engine/threads/thread_engine.hpp"
#include "machine/load.hpp"
#include "policy/seam/registry.hpp"

#include "policy/fake_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>

namespace {

constexpr int rounds = 15;

double median(std::vector<double> v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
}

/// Of `rounds` measurements, each the time of `body(count)` divided by the count.
template <class Body>
double ns_each(int count, Body&& body) {
    std::vector<double> all;
    body(count / 10 + 1);
    for (int i = 0; i < rounds; ++i) all.push_back(bench::time_ns([&] { body(count); }) / count);
    return median(all);
}

/// Of the present clock: additions that wait for each other take a cycle each.
double clock_mhz() {
#if defined(__x86_64__)
    const double ns = ns_each(2'000'000, [](int count) {
        std::uint64_t x = 0;
        for (int i = 0; i < count; i += 10)
            asm volatile("add $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\t"
                         "add $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0"
                         : "+r"(x));
    });
    return 1e3 / ns;
#else
    return 0;
#endif
}

weft::runtime one_worker(const char* policy) {
    weft::runtime_options o;
    o.workers = 1;
    o.policy = policy;
    return weft::runtime(o);
}

double fork_ns() {
    auto rt = one_worker("steal");
    constexpr unsigned n = 27;
    const double forks = bench::fib_forks(n);
    std::uint64_t r = 0;
    // A small difference of two large times: of the best of each.
    const double calls = bench::best_ns(rounds, [&] { r += bench::fib_calls(n); });
    const double plain = bench::best_ns(rounds, [&] { r += rt.run([] { return bench::fib_plain(n); }); });
    bench::keep(r);
    return std::max(0.0, (plain - calls) / forks);
}

/// A child of a group that does nothing.
double child_ns(const char* policy) {
    auto rt = one_worker(policy);
    return ns_each(200'000, [&](int count) {
        rt.run([&] {
            weft::task_group g;
            for (int i = 0; i < count; ++i) g.run([] {});
            g.wait();
        });
    });
}

/// A group with one child.
double group_ns() {
    auto rt = one_worker("steal");
    return ns_each(200'000, [&](int count) {
        rt.run([&] {
            for (int i = 0; i < count; ++i) {
                weft::task_group g;
                g.run([] {});
                g.wait();
            }
        });
    });
}

double yield_ns() {
    auto rt = one_worker("steal");
    return ns_each(500'000, [&](int count) {
        rt.run([&] {
            for (int i = 0; i < count; ++i) weft::this_task::yield();
        });
    });
}

/// One of the two steps of a task through a policy's place: into it, or out of it by `taker`.
double step_ns(const char* name, int taker) {
    weft::test::fake_context context(2);
    const auto policy = weft::make_policy(name);
    const weft::machine m = weft::load_machine("core:2 pu:1");
    policy->attach(m, context);
    std::array<weft::task, 64> tasks{};
    return ns_each(2'000'000, [&](int count) {
        for (int i = 0; i < count; i += 2 * static_cast<int>(tasks.size())) {
            for (auto& t : tasks) policy->ready(0, t, weft::ready_reason::spawned);
            for (std::size_t k = 0; k < tasks.size();) {
                if (policy->next(taker, false).t) ++k;
                context.bounds.clear();
            }
        }
    });
}

/// A cache line from one core to another and back: what an ask and its answer take.
double round_trip_ns() {
    alignas(64) std::atomic<int> ball{0};
    constexpr int trips = 20'000;
    std::vector<double> all;
    for (int r = 0; r < rounds; ++r) {
        ball = 0;
        std::thread other([&] {
            for (int i = 0; i < trips; ++i) {
                while (ball.load(std::memory_order_acquire) != 2 * i + 1) {}
                ball.store(2 * i + 2, std::memory_order_release);
            }
        });
        all.push_back(bench::time_ns([&] {
                          for (int i = 0; i < trips; ++i) {
                              ball.store(2 * i + 1, std::memory_order_release);
                              while (ball.load(std::memory_order_acquire) != 2 * i + 2) {}
                          }
                      }) /
                      trips);
        other.join();
    }
    return *std::min_element(all.begin(), all.end()); // threads that share a core take a time slice each
}

void calibrate() {
    fmt::print(stderr, "calibrating, about five seconds ...\n");
    const bench::both_cores cores;
    if (cores.count() >= 2 && !cores.probe())
        fmt::print(
            stderr,
            "note: the second core is not there all the time; repeat this when the machine is quiet\n");
    if (const double mhz = clock_mhz(); mhz > 0)
        fmt::print("# The clock of this core at the moment: {:.0f} MHz\n\n", mhz);

    const double spawn = child_ns("steal"), reported = child_ns("steal-parent-first");
    const double look = step_ns("steal", 0), lock = step_ns("share", 0);
    fmt::print("[charges]\n");
    fmt::print("fork_ns = {:.2f}\n", fork_ns());
    fmt::print("spawn_ns = {:.1f}\n", spawn);
    fmt::print("start_ns = {:.1f} # of a child in the reported zone, {:.1f}, what is not spawn or look\n",
               std::max(0.0, reported - spawn - 2 * look), reported);
    fmt::print("suspend_ns = {:.1f} # of a yield, {:.1f}, what is not look\n",
               std::max(0.0, yield_ns() - 2 * look), yield_ns());
    fmt::print("wait_ns = {:.1f} # of a group with one child, what is not spawn\n",
               std::max(0.0, group_ns() - spawn));
    fmt::print("look_ns = {:.1f}\n", look);
    if (cores.count() >= 2) {
        const double trip = round_trip_ns();
        const auto woken = bench::wakes(40);
        fmt::print("look_away_ns = {:.0f} # as same_domain_ns\n", trip);
        fmt::print("lock_ns = {:.1f}\n", lock);
        fmt::print("wake_ns = {:.0f}\n", 1e3 * median(woken.of_call_us));
        fmt::print("woken_ns = {:.0f}\n", 1e3 * median(woken.until_woken_us));
        fmt::print("exposure_ns = {} # the engine's exposure_bound\n",
                   weft::engine::thread_engine_options{}.exposure_bound.count());
        fmt::print("signal_ns = {:.0f}\n", 1e3 * median(bench::signals(40)));
        fmt::print("\n[steal]\nsame_domain_ns = {:.0f} # a cache line from one core to the other and back\n",
                   trip);
    } else {
        fmt::print("# one core only: nothing between two can be measured\n");
    }
}

} // namespace

int main(int argc, char**) {
    if (argc > 1) {
        fmt::print(stderr,
                   "calibrate takes no arguments: it prints the sections [charges] and [steal] of a machine "
                   "file, see machines/README.md\n");
        return 2;
    }
    try {
        calibrate();
        return 0;
    } catch (const std::exception& e) {
        fmt::print(stderr, "calibrate: {}\n", e.what());
        return 1;
    }
}
