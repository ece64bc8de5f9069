// Peak memory of a program that runs fib(35) with two workers, as the kernel counts it (VmHWM).
//   n=35 workers=2
#include "../common/peak_memory.hpp"
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../fork/fib.hpp"

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const auto n = static_cast<unsigned>(given.number("n", 35));
        s.add("before_main_mb", bench::peak_mb());
        weft::runtime rt(bench::with_workers(given.number("workers", 2)));
        s.add("idle_runtime_mb", bench::peak_mb());
        s.check(rt.run([&] { return bench::fib_plain(n); }) == bench::fib_by_iteration(n));
        s.add("mb", bench::peak_mb());
    });
}
