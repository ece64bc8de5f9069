// What a policy for unequal cores costs on equal ones: two workers, times over those under `steal` in the same process, by
// turns. Children of a group, forks, and tasks of a graph (layers of 64 tasks, each after three of the layer before), of
// some microseconds each.
//   policy=aats us=20 tasks=4096
#include "../common/both_cores.hpp"
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

std::uint64_t steps = 0; // of a task

[[gnu::noinline]] std::uint64_t compute(std::uint64_t x, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) x = x * 6364136223846793005u + (x >> 33);
    return x;
}

std::uint64_t children(std::uint64_t tasks) {
    std::atomic<std::uint64_t> sum{0};
    weft::task_group g;
    for (std::uint64_t i = 0; i < tasks; ++i) g.run([&sum, i] { sum ^= compute(i, steps); });
    g.wait();
    return sum;
}

std::uint64_t forks(std::uint64_t first, std::uint64_t tasks) {
    if (tasks == 1) return compute(first, steps);
    const std::uint64_t half = tasks / 2;
    auto [a, b] =
        weft::join([=] { return forks(first, half); }, [=] { return forks(first + half, tasks - half); });
    return a ^ b;
}

constexpr std::size_t layer = 64;

std::uint64_t graph(std::uint64_t tasks) {
    std::vector<std::uint64_t> value(tasks);
    weft::graph g;
    std::vector<weft::graph_task> added(layer); // handles of the tasks before the first ones are empty
    for (std::size_t i = 0; i < tasks; ++i) {
        const std::size_t above = i < layer ? 0 : i / layer * layer - layer;
        const auto of = [&](std::size_t k) { return added[above + (i + k) % layer]; };
        added.push_back(
            g.add([&value, i] { value[i] = compute(i, steps); }, weft::after(of(0), of(7), of(31))));
        if (i + 1 == layer) added.erase(added.begin(), added.begin() + layer);
    }
    g.run();
    std::uint64_t all = 0;
    for (const std::uint64_t v : value) all ^= v;
    return all;
}

/// The best of some runs under each, by turns: the first over the second.
template <class Body>
double over_steal(weft::runtime& policy, weft::runtime& steal, bench::sample& s, std::uint64_t right,
                  const Body& body) {
    std::array<double, 2> best{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
    for (std::size_t turn = 0; turn < 10; ++turn) {
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
        const auto tasks = static_cast<std::uint64_t>(given.number("tasks", 4096)) / layer * layer;
        constexpr std::uint64_t probe = 1'000'000;
        std::uint64_t kept = 1;
        const double ns = bench::best_ns(3, [&] { kept = compute(kept, probe); });
        bench::keep(kept);
        steps = static_cast<std::uint64_t>(1000.0 * given.number("us", 20) / (ns / probe));
        std::uint64_t right = 0;
        for (std::uint64_t i = 0; i < tasks; ++i) right ^= compute(i, steps);
        weft::runtime policy(bench::with_workers(2, given.text("policy", "aats")));
        weft::runtime steal(bench::with_workers(2));
        s.with_both_cores([&] {
            s.add("line_ns", bench::both_cores().line_transfer_ns());
            s.add("children", over_steal(policy, steal, s, right, [=] { return children(tasks); }));
            s.add("forks", over_steal(policy, steal, s, right, [=] { return forks(0, tasks); }));
            s.add("graph", over_steal(policy, steal, s, right, [=] { return graph(tasks); }));
        });
    });
}
