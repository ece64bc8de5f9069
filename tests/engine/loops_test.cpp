// Loops under `static` and `dynamic`, and iterations under `constrained`, in the model: which worker
// runs what.
#include "engine/modelled.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::equal_cores;
using test::modelled;

constexpr int workers = 4;
using worker_of_each = std::vector<int>; ///< worker of each iteration

worker_of_each run_loop(modelled& m, int n, auto&& cost_of) {
    worker_of_each at(static_cast<std::size_t>(n), -1);
    m.run([&] {
        parallel_for(0, n, [&](int i) {
            cost(cost_of(i));
            at[static_cast<std::size_t>(i)] = this_task::worker();
        });
    });
    return at;
}

TEST(loops, static_pieces_are_dealt_out) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        modelled one("static", equal_cores(workers), seed),
            three("static:pieces=3", equal_cores(workers), seed);
        const auto uneven = [](int i) { return static_cast<std::uint64_t>(100 + 1000 * (i % 3)); };
        for (int again = 0; again < 3; ++again) {
            EXPECT_EQ(run_loop(one, 8, uneven), (worker_of_each{0, 0, 1, 1, 2, 2, 3, 3}));
            EXPECT_EQ(run_loop(three, 12, uneven), (worker_of_each{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));
        }
        EXPECT_EQ(run_loop(one, 2, uneven), (worker_of_each{0, 1})); // fewer iterations than workers
    }
}

/// OpenMP's chunk.
TEST(loops, pieces_are_no_longer_than_the_grain) {
    modelled m("static", equal_cores(workers));
    worker_of_each at(20);
    m.run([&] {
        parallel_for(0, 20, [&](int i) { at[static_cast<std::size_t>(i)] = this_task::worker(); },
                     {.grain = 2});
    });
    EXPECT_EQ(at, (worker_of_each{0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1}));
}

TEST(loops, static_pieces_wait_for_their_worker) {
    modelled m("static", equal_cores(workers));
    const time_ns took = m.run([] {
        parallel_for(0, 8, [](int i) { cost(i < 2 ? 1000 : 10); }); // both on worker 0
    });
    EXPECT_EQ(took, 2000);
}

TEST(loops, dynamic_pieces_go_to_the_worker_that_is_free_first) {
    modelled m("dynamic", equal_cores(workers));
    std::array<std::uint64_t, workers> free_at{};
    const auto uneven = [](int i) { return static_cast<std::uint64_t>(10 + 97 * i % 400); };
    for (int i = 0; i < 64; ++i) *std::ranges::min_element(free_at) += uneven(i);
    EXPECT_EQ(m.run([&] { parallel_for(0, 64, [&](int i) { cost(uneven(i)); }); }),
              static_cast<time_ns>(*std::ranges::max_element(free_at)));
}

TEST(loops, loops_in_loops_and_other_tasks) {
    for (const char* spec : {"static", "static:pieces=2", "dynamic", "dynamic:pieces=1"}) {
        modelled m(spec, equal_cores(workers));
        int count = 0;
        m.run([&] {
            join(
                [&] {
                    parallel_for(0, 10, [&](int) {
                        parallel_for(0, 10, [&](int) { cost(10), ++count; });
                        join([&] { ++count; }, [&] { ++count; });
                    });
                },
                [&] { parallel_for(0, 10, [&](int) { this_task::yield(), ++count; }); });
        });
        EXPECT_EQ(count, 130) << spec;
    }
}

/// Worker of each leaf of a tree whose leaves take unequally long.
void leaves(worker_of_each& at, std::size_t from, std::size_t to) {
    if (to - from == 1) {
        cost(100'000 + 37'000 * from % 200'000);
        at[from] = this_task::worker();
        return;
    }
    const std::size_t mid = from + (to - from) / 2;
    join([&, mid] { leaves(at, from, mid); }, [&, mid] { leaves(at, mid, to); });
}

TEST(constrained, every_strict_iteration_is_the_same) {
    constexpr int relaxed = 3, iterations = 8;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const test::cores on{.cores_per_domain = workers, .cost = test::runtime_cost::usual};
        modelled m(make_policy("constrained:relaxed=" + std::to_string(relaxed)), on.build(), seed);
        std::vector<worker_of_each> of(iterations, worker_of_each(64, -1));
        m.run([&] {
            for (int k = 0; k < iterations; ++k) {
                iteration(k);
                leaves(of[static_cast<std::size_t>(k)], 0, 64);
            }
        });
        for (std::size_t k = relaxed + 2; k < iterations; ++k) EXPECT_EQ(of[k], of[k - 1]) << k;
        for (int w = 0; w < workers; ++w) EXPECT_GT(std::ranges::count(of.back(), w), 0);
    }
}

TEST(constrained, without_iterations_it_steals_at_random) {
    modelled m("constrained", equal_cores(workers)), steal("steal:zone=reported", equal_cores(workers));
    worker_of_each at(64);
    const time_ns took = m.run([&] { leaves(at, 0, 64); });
    const time_ns stolen = steal.run([&] { leaves(at, 0, 64); });
    EXPECT_NEAR(static_cast<double>(took), static_cast<double>(stolen), 400'000);
}

} // namespace
} // namespace weft
