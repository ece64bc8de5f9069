// Memory of a task that waits: all wait for one latch at the same time, on stacks of 64 KiB of which the
// kernel gives what is touched. VmRSS and VmPTE of the process, a task.
//   tasks=200000 workers=2
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"

#include <atomic>
#include <fstream>
#include <string>

namespace {

double status_kb(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (double kb = 0; word == key && status >> kb) return kb;
    return 0;
}
double memory_kb() { return status_kb("VmRSS:") + status_kb("VmPTE:"); }

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const int tasks = given.number("tasks", 200'000);
        weft::runtime_options options = bench::with_workers(given.number("workers", 2));
        options.stack_bytes = 64 * 1024;
        weft::runtime rt(options);
        const double before = memory_kb();
        weft::latch open(1);
        std::atomic<int> through{0};
        rt.run([&] {
            weft::task_group g;
            for (int i = 0; i < tasks; ++i)
                g.run([&] {
                    open.wait();
                    ++through;
                });
            s.add("kb", (memory_kb() - before) / tasks);
            open.count_down();
            g.wait();
        });
        s.check(through == tasks);
    });
}
