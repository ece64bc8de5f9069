// What a profile costs: the processor time of the same program with and without, one worker each.
//   tasks=10000 task_ns=1000 forks=200000 leaf_ns=0 file=/tmp/... (removed)
//
// `fork`: how much longer a fork takes. `joined` and `spawned`: the time of closures of joins and of children of a group, of
// about task_ns each, over that without a profile. `large`: that of a tree of `forks` forks, whose leaves take leaf_ns, and
// `rss_mb` the most memory of the process after it.
#include "../common/peak_memory.hpp"
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <limits>
#include <string>

#include <unistd.h>

namespace {

/// Time passes, whatever the processor's speed.
void work(std::uint64_t turns) {
    std::uint64_t x = turns;
    for (std::uint64_t i = 0; i < turns; ++i) asm volatile("imul $3, %0" : "+r"(x));
}

std::uint64_t tree(std::uint64_t leaves, std::uint64_t turns) {
    if (leaves == 1) return work(turns), 1;
    const std::uint64_t left = leaves / 2;
    const auto [a, b] =
        weft::join([=] { return tree(left, turns); }, [=] { return tree(leaves - left, turns); });
    return a + b;
}

void children(std::uint64_t n, std::uint64_t turns) {
    weft::task_group g;
    for (std::uint64_t i = 0; i < n; ++i) g.run([turns] { work(turns); });
    g.wait();
}

/// Processor time of the process, so that other programs do not count. Only the one worker runs.
double cpu_ns() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/// The best times without and with a profile, whose runs alternate.
using times = std::array<double, 2>;

template <class Body>
times by_turns(weft::runtime& plain, weft::runtime& profiled, int rounds, Body&& body) {
    times best{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    for (int round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < 2; ++i) {
            weft::runtime& rt = i == 0 ? plain : profiled;
            const double began = cpu_ns();
            rt.run(body);
            best[i] = std::min(best[i], cpu_ns() - began);
        }
    return best;
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const auto tasks = static_cast<std::uint64_t>(given.number("tasks", 10'000));
        const auto forks = static_cast<std::uint64_t>(given.number("forks", 200'000));
        const double turn_ns = bench::best_ns(5, [] { work(1'000'000); }) * 1e-6;
        const auto turns = [&](const char* name, int ns) {
            return static_cast<std::uint64_t>(given.number(name, ns) / turn_ns);
        };
        const std::uint64_t of_task = turns("task_ns", 1000), of_leaf = turns("leaf_ns", 0);
        const std::string file = given.text("file", std::filesystem::temp_directory_path() /
                                                        ("weft_bench_profile_" + std::to_string(getpid())));
        weft::runtime_options o = bench::with_workers(1), with = o;
        with.profile = file;
        {
            weft::runtime plain(o), profiled(with);
            constexpr int rounds = 8;
            const times joined =
                by_turns(plain, profiled, rounds, [&] { s.check(tree(tasks, of_task) == tasks); });
            const times spawned = by_turns(plain, profiled, rounds, [&] { children(tasks, of_task); });
            const times large = by_turns(plain, profiled, forks > 1'000'000 ? 1 : rounds,
                                         [&] { s.check(tree(forks + 1, of_leaf) == forks + 1); });
            s.add("fork", (large[1] - large[0]) / static_cast<double>(forks));
            s.add("joined", joined[1] / joined[0]);
            s.add("spawned", spawned[1] / spawned[0]);
            s.add("large", large[1] / large[0]);
            s.add("large_ns", large[0] / static_cast<double>(forks));
        }
        s.add("rss_mb", bench::peak_mb());
        s.add("file_kb", static_cast<double>(std::filesystem::file_size(file)) / 1e3);
        std::filesystem::remove(file);
    });
}
