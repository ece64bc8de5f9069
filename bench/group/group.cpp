// task_group::run at one worker, child first: a loop of empty children in one group, and a group in every
// node of fib.
//   runs=1000000 n=27
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"
#include "../fork/fib.hpp"

namespace {

std::uint64_t fib_groups(unsigned n) {
    if (n < 2) return n;
    std::uint64_t a = 0;
    weft::task_group g;
    g.run([&a, n] { a = fib_groups(n - 1); });
    const std::uint64_t b = fib_groups(n - 2);
    g.wait();
    return a + b;
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const int runs = given.number("runs", 1'000'000);
        const auto n = static_cast<unsigned>(given.number("n", 27));
        weft::runtime one(bench::with_workers(1));
        std::int64_t done = 0;
        const auto loop = [&](int count) {
            one.run([&] {
                weft::task_group g;
                for (int i = 0; i < count; ++i) g.run([&done] { ++done; });
                g.wait();
            });
        };
        loop(runs / 10);
        done = 0;
        s.add("run", bench::best_ns(3, [&] { loop(runs); }) / runs);
        s.check(done == 3 * std::int64_t{runs});

        std::uint64_t result = one.run([&] { return fib_groups(n - 5); });
        const double ns = bench::best_ns(3, [&] { result = one.run([&] { return fib_groups(n); }); });
        s.add("node", ns / bench::fib_forks(n));
        s.check(result == bench::fib_by_iteration(n));
    });
}
