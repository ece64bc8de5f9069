// CPU time of the whole process during one second without work, from 100 ms after the last run on.
//   workers=2
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"
#include "../fork/fib.hpp"

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        weft::runtime rt(bench::with_workers(given.number("workers", 2)));
        s.check(rt.run([] { return bench::fib_plain(30); }) == bench::fib_by_iteration(30));
        bench::sleep_ms(100);
        const auto cpu = bench::cpu_ns();
        const auto wall = bench::now_ns();
        bench::sleep_ms(1000);
        s.add("percent", 100.0 * static_cast<double>(bench::cpu_ns() - cpu) /
                             static_cast<double>(bench::now_ns() - wall));
    });
}
