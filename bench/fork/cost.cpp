// What a fork costs at one worker: the forms one after the other, so that all see the same machine,
// each the best of three.
//   n=35
#include "fib.hpp"

#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        auto n = static_cast<unsigned>(given.number("n", 35));
        bench::keep(n);
        const std::uint64_t expected = bench::fib_by_iteration(n);
        weft::runtime one(bench::with_workers(1));
        const auto measure = [&](const char* name, auto form) {
            static_cast<void>(form(n - 10)); // warm
            std::uint64_t result = 0;
            const double ns = bench::best_ns(3, [&] { result = form(n); });
            s.add(name, ns / bench::fib_forks(n));
            s.check(result == expected);
        };
        measure("serial", [](unsigned k) { return bench::fib_serial(k); });
        measure("serial_free", [](unsigned k) { return bench::fib_serial_free(k); });
        measure("lvalues", [&](unsigned k) { return one.run([&] { return bench::fib_lvalues(k); }); });
        measure("plain", [&](unsigned k) { return one.run([&] { return bench::fib_plain(k); }); });
        measure("context", [&](unsigned k) {
            return one.run([&](weft::context here) { return bench::fib_context(here, k); });
        });
        measure("calls", [](unsigned k) { return bench::fib_calls(k); });
    });
}
