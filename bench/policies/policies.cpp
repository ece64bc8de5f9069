// What a fork costs where the policy sees each one: fib(25) at one worker.
//   policy=share n=25
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"
#include "../fork/fib.hpp"

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const auto n = static_cast<unsigned>(given.number("n", 25));
        weft::runtime one(bench::with_workers(1, given.text("policy", "steal")));
        static_cast<void>(one.run([&] { return bench::fib_plain(n - 8); })); // warm
        std::uint64_t result = 0;
        const double ns = bench::time_ns([&] { result = one.run([&] { return bench::fib_plain(n); }); });
        s.add("fork", ns / bench::fib_forks(n));
        s.check(result == bench::fib_by_iteration(n));
    });
}
