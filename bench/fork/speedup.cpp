// One worker against two, both forms, one after the other, each the best of three.
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
        const auto run = [&](int workers, bool context) {
            weft::runtime rt(bench::with_workers(workers));
            const auto once = [&](unsigned k) {
                if (context) return rt.run([&](weft::context here) { return bench::fib_context(here, k); });
                return rt.run([&] { return bench::fib_plain(k); });
            };
            static_cast<void>(once(n - 10)); // warm
            std::uint64_t result = 0;
            const double ns = bench::best_ns(3, [&] { result = once(n); });
            s.check(result == expected);
            return ns;
        };
        s.with_both_cores([&] {
            s.add("plain", run(1, false) / run(2, false));
            s.add("context", run(1, true) / run(2, true));
        });
    });
}
