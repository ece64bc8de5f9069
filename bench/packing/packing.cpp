// Thread packing on real threads: a task of equal work for each worker, while fewer workers are active. The ideal is that each
// active worker gets workers/active tasks' worth of work. With more workers than cores the wall clock says little about that, so
// the figure is the processor time of the busiest thread.
//   workers=8 active=7 type=yield interval_us=1000 task_ms=200 policy=packing
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace {

/// The processor time of each thread of this process, in nanoseconds, by its number.
std::map<std::string, double> cpu_of_threads() {
    std::map<std::string, double> all;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
        double ns = 0;
        if (std::ifstream(thread.path() / "schedstat") >> ns) all[thread.path().filename()] = ns;
    }
    return all;
}

void compute(std::int64_t steps) {
    for (std::int64_t i = 0; i < steps; ++i) asm volatile("" : : "r"(i) : "memory");
}

double ns_of(std::int64_t steps) {
    const auto began = bench::cpu_ns();
    compute(steps);
    return static_cast<double>(bench::cpu_ns() - began);
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const int workers = given.number("workers", 8), active = given.number("active", 7);
        const std::string type = given.text("type", "yield");
        auto o = bench::with_workers(workers, given.text("policy", "packing"));
        o.preempt = type + ":interval=" + std::to_string(given.number("interval_us", 1000)) + "us";
        o.pin = "off";
        constexpr std::int64_t probe = 20'000'000;
        const double step_ns =
            std::min({ns_of(probe), ns_of(probe), ns_of(probe)}) / static_cast<double>(probe);
        const double task_ns = given.number("task_ms", 200) * 1e6;
        const auto steps = static_cast<std::int64_t>(task_ns / step_ns);

        weft::runtime rt(o);
        rt.set_active_workers(active);
        const auto before = cpu_of_threads();
        const auto began = bench::now_ns();
        double cpu = 0;
        rt.run([&] {
            weft::task_group g;
            for (int i = 0; i < workers; ++i) g.run([=] { compute(steps); });
            g.wait();
        });
        const auto took = static_cast<double>(bench::now_ns() - began);
        double busiest = 0;
        for (const auto& [thread, ns] : cpu_of_threads()) {
            const auto known = before.find(thread);
            const double used = ns - (known == before.end() ? 0 : known->second);
            busiest = std::max(busiest, used);
            cpu += used;
        }
        s.check(cpu > 0);
        s.add("busiest_over_percent", (busiest * active / cpu - 1) * 100);
        s.add("seconds", took * 1e-9);
        s.add("cpu_seconds", cpu * 1e-9);
    });
}
