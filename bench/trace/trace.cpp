// What a trace costs: the same program with and without, one worker.
//   tasks=20000 task_ns=2000 forks=200000 file=/tmp/... (removed)
//
// `event` is the time that a fork takes longer, over its three events; `tasks` the time of children of about
// 2 us over that without a trace.
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include <unistd.h>

namespace {

std::uint64_t sum(std::uint64_t first, std::uint64_t last) {
    if (last - first == 1) return first;
    const std::uint64_t middle = first + (last - first) / 2;
    const auto [a, b] = weft::join([=] { return sum(first, middle); }, [=] { return sum(middle, last); });
    return a + b;
}

/// Time passes, whatever the processor's speed.
void work(std::uint64_t turns) {
    std::uint64_t x = turns;
    for (std::uint64_t i = 0; i < turns; ++i) asm volatile("imul $3, %0" : "+r"(x));
}

struct program {
    std::uint64_t forks, tasks, turns;

    double fork_ns(weft::runtime& rt, bench::sample& s) const {
        std::uint64_t found = 0;
        const double ns = bench::time_ns([&] { found = rt.run([&] { return sum(0, forks + 1); }); });
        s.check(found == forks * (forks + 1) / 2);
        return ns / static_cast<double>(forks);
    }
    double task_ns(weft::runtime& rt) const {
        return bench::time_ns([&] {
                   rt.run([&] {
                       weft::task_group g;
                       for (std::uint64_t i = 0; i < tasks; ++i) g.run([this] { work(turns); });
                       g.wait();
                   });
               }) /
               static_cast<double>(tasks);
    }
};

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        program p{static_cast<std::uint64_t>(given.number("forks", 50'000)),
                  static_cast<std::uint64_t>(given.number("tasks", 10'000)), 1000};
        const double task_ns = given.number("task_ns", 2000);
        p.turns = static_cast<std::uint64_t>(task_ns * 1e6 / bench::best_ns(5, [] { work(1'000'000); }));
        const std::string file = given.text("file", std::filesystem::temp_directory_path() /
                                                        ("weft_bench_trace_" + std::to_string(getpid())));
        weft::runtime_options o = bench::with_workers(1), with = o;
        with.trace = file;
        {
            weft::runtime plain(o), traced(with);
            double fork[2], task[2];
            std::fill(std::begin(fork), std::end(fork), std::numeric_limits<double>::infinity());
            std::fill(std::begin(task), std::end(task), std::numeric_limits<double>::infinity());
            for (int round = 0; round < 8; ++round)
                for (int i = 0; i < 2; ++i) { // by turns; the rest lets the file be written
                    weft::runtime& rt = i == 0 ? plain : traced;
                    fork[i] = std::min(fork[i], p.fork_ns(rt, s));
                    usleep(60'000);
                    task[i] = std::min(task[i], p.task_ns(rt));
                    usleep(60'000);
                }
            s.add("event", (fork[1] - fork[0]) / 3);
            s.add("tasks", task[1] / task[0]);
        }
        s.add("mb", static_cast<double>(std::filesystem::file_size(file)) / 1e6);
        std::filesystem::remove(file);
    });
}
