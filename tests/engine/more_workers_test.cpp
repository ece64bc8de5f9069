// ctest: labels=not_asan,not_tsan
//
// More workers never make a program slower under the policies of general use (docs/policies.md): loops of spawns, trees,
// loops, graphs and futures of short and long tasks, on modelled machines of 2 to 64 cores with the usual costs. Each
// program has work for 0.2 ms or more: to wake 63 workers takes longer than that.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "engine/modelled.hpp"
#include "engine/sanitized.hpp"

namespace weft {
namespace {

const std::vector<std::string> policies_of_general_use = {"steal", "near", "pws", "steal-parent-first"};

// ---- the programs; a task takes `cycles`, at 1 GHz, so nanoseconds

void binary_tree(std::uint64_t cycles, int depth) {
    if (depth == 0) return cost(cycles);
    join([=] { binary_tree(cycles, depth - 1); }, [=] { binary_tree(cycles, depth - 1); });
}

void tree_of_groups(std::uint64_t cycles, int depth) {
    if (depth == 0) return cost(cycles);
    task_group g;
    for (int i = 0; i < 4; ++i) g.run([=] { tree_of_groups(cycles, depth - 1); });
    g.wait();
}

void loop_of_spawns(std::uint64_t cycles) {
    task_group g;
    for (int i = 0; i < 4096; ++i) g.run([=] { cost(cycles); });
    g.wait();
}

void loop_of_futures(std::uint64_t cycles) {
    std::vector<future<void>> all;
    for (int i = 0; i < 2048; ++i) all.push_back(async([=] { cost(cycles); }));
    for (future<void>& one : all) one.get();
}

void even_loop(std::uint64_t cycles) {
    parallel_for(0, 4096, [=](int) { cost(cycles); });
}

void uneven_loop(std::uint64_t cycles) {
    parallel_for(0, 4096, [=](int i) { cost(i % 64 == 0 ? 32 * cycles : cycles / 2); });
}

void graph_without_edges(std::uint64_t cycles) {
    graph g;
    for (int i = 0; i < 2048; ++i) g.add([=] { cost(cycles); });
    g.run();
    g.wait();
}

void wavefront(std::uint64_t cycles) {
    constexpr std::size_t side = 48;
    graph g;
    std::vector<datum> data((side + 1) * (side + 1)); // row 0 and column 0 are written by no task
    const auto at = [&](std::size_t i, std::size_t j) -> datum& { return data[i * (side + 1) + j]; };
    for (std::size_t i = 1; i <= side; ++i)
        for (std::size_t j = 1; j <= side; ++j)
            g.add([=] { cost(cycles); }, write(at(i, j)), read(at(i - 1, j)), read(at(i, j - 1)));
    g.run();
    g.wait();
}

struct program {
    const char* name;
    void (*run)(std::uint64_t cycles);
    /// Shorter tasks are not promised anything: on many cores a steal takes longer than it brings.
    std::uint64_t shortest = 100;
};

const program programs[] = {
    {"binary tree", [](std::uint64_t cycles) { binary_tree(cycles, 12); }},
    {"tree of groups", [](std::uint64_t cycles) { tree_of_groups(cycles, 6); }},
    {"loop of spawns", loop_of_spawns},
    {"loop of futures", loop_of_futures},
    {"even loop", even_loop},
    {"uneven loop", uneven_loop},
    {"graph without edges", graph_without_edges},
    {"wavefront", wavefront, 1000},
};

struct comparison {
    std::string policy;
    program of;
    std::uint64_t cycles;

    friend std::ostream& operator<<(std::ostream& out, const comparison& c) {
        return out << c.policy << ", " << c.of.name << ", tasks of " << c.cycles << " cycles";
    }
};

std::vector<comparison> comparisons() {
    std::vector<comparison> all;
    for (const std::string& policy : policies_of_general_use)
        for (const program& p : programs)
            for (const std::uint64_t cycles : {100, 1000, 10'000, 100'000})
                if (cycles >= p.shortest && (!test::sanitized || cycles == 1000))
                    all.push_back({policy, p, cycles});
    return all;
}

class more_workers : public testing::TestWithParam<comparison> {
protected:
    static time_ns timed(test::cores on) {
        constexpr time_ns usual_patience = 100'000; // how long a worker looks for work before it sleeps
        const comparison& c = GetParam();
        on.cost = test::runtime_cost::usual;
        test::modelled m(make_policy(c.policy), on.build(), 1, usual_patience);
        return m.run([&] { c.of.run(c.cycles); });
    }
};

INSTANTIATE_TEST_SUITE_P(modelled, more_workers, testing::ValuesIn(comparisons()));

TEST_P(more_workers, are_not_slower_than_one) {
    const time_ns one = timed({.cores_per_domain = 1});
    for (const test::cores on :
         {test::cores{.cores_per_domain = 2}, test::cores{.packages = 2, .cores_per_domain = 8},
          test::cores{.packages = 4, .cores_per_domain = 16}}) {
        if (test::sanitized && on.packages > 2) continue;
        EXPECT_LE(timed(on), one) << on.packages * on.cores_per_domain << " workers";
    }
}

} // namespace
} // namespace weft
