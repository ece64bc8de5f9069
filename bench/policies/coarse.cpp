// What a policy costs where tasks are long enough: two workers, times over those under `steal` in the same
// process, by turns. A tree of forks over leaves of 20 us, and fib that is serial below a cut-off, where a
// leaf takes some 2 us.
//   policy=share leaves=4096 n=34 cutoff=16
#include "../common/both_cores.hpp"
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"
#include "../fork/fib.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace {

std::uint64_t steps_of_20_us = 0;

// One copy, so that its code is the same wherever a fork runs it.
[[gnu::noinline]] std::uint64_t compute(std::uint64_t x, std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) x = x * 6364136223846793005u + (x >> 33);
    return x;
}

std::uint64_t tree(std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) return compute(first, steps_of_20_us);
    const std::uint64_t half = leaves / 2;
    auto [a, b] =
        weft::join([=] { return tree(first, half); }, [=] { return tree(first + half, leaves - half); });
    return a ^ b;
}

std::uint64_t fib(unsigned n, unsigned cutoff) {
    if (n < cutoff) return bench::fib_serial(n);
    auto [a, b] = weft::join([=] { return fib(n - 1, cutoff); }, [=] { return fib(n - 2, cutoff); });
    return a + b;
}

/// The best of some runs under each, by turns: the first over the second.
template <class Body>
double over_steal(weft::runtime& policy, weft::runtime& steal, bench::sample& s, std::uint64_t right,
                  const Body& body) {
    double best[2] = {std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
    for (int turn = 0; turn < 10; ++turn) {
        std::uint64_t result = 0;
        weft::runtime& rt = turn % 2 == 0 ? policy : steal;
        bench::wait_until_quiet(); // the workers of the other one sleep
        best[turn % 2] = std::min(best[turn % 2], bench::time_ns([&] { result = rt.run(body); }));
        s.check(result == right);
    }
    return best[0] / best[1];
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const auto leaves = static_cast<std::uint64_t>(given.number("leaves", 4096));
        const auto n = static_cast<unsigned>(given.number("n", 34)),
                   cutoff = static_cast<unsigned>(given.number("cutoff", 16));
        constexpr std::uint64_t probe = 1'000'000;
        std::uint64_t kept = 1;
        const double ns = bench::best_ns(3, [&] { kept = compute(kept, probe); });
        bench::keep(kept);
        steps_of_20_us = static_cast<std::uint64_t>(20'000 / (ns / probe));
        std::uint64_t right = 0;
        for (std::uint64_t i = 0; i < leaves; ++i) right ^= compute(i, steps_of_20_us);

        weft::runtime policy(bench::with_workers(2, given.text("policy", "share")));
        weft::runtime steal(bench::with_workers(2));
        s.with_both_cores([&] {
            s.add("line_ns", bench::both_cores().line_transfer_ns());
            s.add("tasks", over_steal(policy, steal, s, right, [=] { return tree(0, leaves); }));
            s.add("fib",
                  over_steal(policy, steal, s, bench::fib_by_iteration(n), [=] { return fib(n, cutoff); }));
        });
    });
}
