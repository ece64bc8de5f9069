// ctest: labels=not_tsan
// AATS and the oracle `optimal` in virtual time, on described machines with unequal cores: batches of tasks of four sizes, whose
// classes tell their sizes exactly.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/modelled.hpp"
#include "policy/parts/optimal_cut.hpp"
#include "policy/seam/registry.hpp"

namespace weft {
namespace {

using test::equal_cores, test::modelled;

constexpr std::array<std::uint64_t, 4> work = {9'500'000, 2'600'000, 700'000,
                                               190'000}; // ns on a core of speed 1
constexpr std::array<std::string_view, 4> names = {"9.5 ms", "2.6 ms", "0.7 ms", "0.19 ms"};

/// So many cores of each speed.
machine with_speeds(const std::vector<std::pair<int, double>>& groups) {
    int count = 0;
    for (const auto& group : groups) count += group.first;
    machine_parts parts = equal_cores(count).parts();
    parts.core_classes.clear();
    int core = 0;
    for (const auto& [n, speed] : groups) {
        for (int i = 0; i < n; ++i)
            parts.cores[static_cast<std::size_t>(core++)].core_class =
                static_cast<int>(parts.core_classes.size());
        parts.core_classes.push_back(
            {.name = std::to_string(speed), .speed = speed, .frequency_mhz = 1000 * speed});
    }
    return machine(std::move(parts));
}
machine eight_fast_and_eight_slow() { return with_speeds({{8, 1}, {8, 0.32}}); }

struct batches {
    int tasks, of_each_size; ///< of the three larger ones
    int count = 20;
};

/// Nanoseconds for all but the first half of the batches, in which classes are learnt.
time_ns time_of(const std::string& spec, const machine& on, const batches& b, std::uint64_t seed = 1) {
    modelled m(make_policy(spec), on, seed);
    std::vector<std::size_t> sizes;
    for (int i = 0; i < b.tasks; ++i)
        sizes.push_back(static_cast<std::size_t>(std::min(i / b.of_each_size, 3)));
    std::shuffle(sizes.begin(), sizes.end(), std::mt19937_64(seed));
    time_ns half = 0, end = 0;
    m.run([&] {
        for (int k = 0; k < b.count; ++k) {
            if (k == b.count / 2) half = m.engine.now();
            task_group batch;
            for (const std::size_t size : sizes)
                batch.run([size] { cost(work[size]); },
                          {.work = static_cast<double>(work[size]), .name = names[size]});
            batch.wait();
        }
        end = m.engine.now();
    });
    return (end - half) / (b.count - b.count / 2);
}

double bound(const machine& on, const batches& b) {
    double all = 0;
    for (int i = 0; i < b.tasks; ++i)
        all += static_cast<double>(work[static_cast<std::size_t>(std::min(i / b.of_each_size, 3))]);
    std::vector<double> speeds;
    for (int c = 0; c < on.size(); ++c) speeds.push_back(on.speed_of(c));
    return least_makespan(all, static_cast<double>(work[0]), speeds);
}

TEST(aats, no_policy_is_faster_than_the_bound_and_the_oracle_is_near_it) {
    const machine on = eight_fast_and_eight_slow();
    for (const batches b : {batches{128, 2}, batches{128, 8}, batches{1024, 64}}) {
        const double least = bound(on, b);
        for (const char* const spec : {"aats", "aats:np=on", "aats:guard=on", "optimal",
                                       "optimal:allocate=finish", "steal:zone=reported"})
            EXPECT_GE(static_cast<double>(time_of(spec, on, b)), least) << spec << ' ' << b.of_each_size;
        EXPECT_LT(static_cast<double>(time_of("optimal:allocate=finish", on, b)), 1.05 * least)
            << b.of_each_size;
    }
}

TEST(aats, is_near_the_oracle_where_no_task_matters_alone) {
    for (const machine& on : {eight_fast_and_eight_slow(), with_speeds({{4, 1}, {12, 0.32}})}) {
        const batches b{2048, 128};
        const auto oracle = static_cast<double>(time_of("optimal", on, b));
        EXPECT_LT(static_cast<double>(time_of("aats:guard=on", on, b)), 1.1 * oracle);
        EXPECT_LT(static_cast<double>(time_of("aats", on, b)), 1.1 * oracle);
    }
}

/// A random pool lets light tasks of a cluster go before heavy ones, which then end last. In the order of classes a batch of few heavy
/// tasks takes hardly more time than under the oracle.
TEST(aats, is_near_the_oracle_where_few_tasks_are_heavy_if_pools_are_taken_in_order) {
    const machine on = eight_fast_and_eight_slow();
    for (const int alpha : {2, 4, 8, 12}) {
        const auto oracle = static_cast<double>(time_of("optimal", on, {128, alpha}));
        EXPECT_LT(static_cast<double>(time_of("aats:order=class,guard=on", on, {128, alpha})), 1.1 * oracle)
            << alpha;
    }
    const auto oracle = static_cast<double>(time_of("optimal", on, {128, 8}));
    EXPECT_GT(static_cast<double>(time_of("aats", on, {128, 8})), 1.2 * oracle);
}

TEST(aats, is_far_faster_than_random_stealing_where_few_tasks_are_heavy) {
    const machine on = eight_fast_and_eight_slow();
    const auto mean = [&](const char* spec) {
        double sum = 0;
        for (const std::uint64_t seed : {1, 2, 3, 4})
            sum += static_cast<double>(time_of(spec, on, {128, 8}, seed));
        return sum / 4;
    };
    EXPECT_LT(mean("aats"), 0.7 * mean("steal:zone=reported"));
}

/// Chen & Guo's rule lets slow cores begin heavy tasks that fast ones would have come to (ours: the guard does not).
TEST(aats, the_guard_is_no_worse_than_staying_in_the_cluster) {
    const machine on = eight_fast_and_eight_slow();
    for (const int alpha : {2, 8, 12, 16, 20, 24, 28}) {
        const auto np = static_cast<double>(time_of("aats:np=on", on, {128, alpha}));
        EXPECT_LT(static_cast<double>(time_of("aats:guard=on", on, {128, alpha})), 1.02 * np) << alpha;
    }
}

TEST(aats, on_equal_cores_it_takes_the_time_of_random_stealing) {
    const machine on = with_speeds({{16, 1}});
    for (const int alpha : {2, 8, 20}) {
        const auto of = [&](const char* spec) {
            return static_cast<double>(time_of(spec, on, {128, alpha}));
        };
        const double pfws = of("steal-parent-first");
        EXPECT_NEAR(of("aats"), pfws, 0.02 * pfws) << alpha;
    }
}

TEST(aats, the_same_seed_the_same_time) {
    const machine on = eight_fast_and_eight_slow();
    EXPECT_EQ(time_of("aats", on, {128, 8}, 3), time_of("aats", on, {128, 8}, 3));
}

/// Divide and conquer, straight and by way of another function, as forks and as groups of children.
struct recursion {
    static void leaf() { cost(20'000); }
    static void forks(int depth) {
        if (depth == 0) return leaf();
        join([=] { forks(depth - 1); }, [=] { forks(depth - 1); });
    }
    static void even(int depth) {
        children(depth, [](int below) { odd(below); });
    }
    static void odd(int depth) {
        children(depth, [](int below) { even(below); });
    }

private:
    template <class Below>
    static void children(int depth, Below below) {
        if (depth == 0) return leaf();
        task_group g;
        for (int i = 0; i < 2; ++i) g.run([=] { below(depth - 1); });
        g.wait();
    }
};

TEST(aats, divide_and_conquer_is_handed_to_random_stealing) {
    for (void (*const program)(int) : {recursion::forks, recursion::even}) {
        struct outcome {
            double first, later;
            std::uint64_t exposures, exchanges;
        };
        const auto run = [&](const std::string& spec) {
            modelled m(make_policy(spec), eight_fast_and_eight_slow(), 1);
            outcome o{};
            o.first = static_cast<double>(m.run([&] { program(12); }));
            o.later = static_cast<double>(m.run([&] { program(12); }));
            for (int w = 0; w < 16; ++w) {
                o.exposures += m.engine.worker_at(w).count.exposures.get();
                o.exchanges += m.engine.worker_at(w).count.exchanges.get();
            }
            return o;
        };
        const outcome steal = run("steal");
        ASSERT_GT(steal.exposures, 0u);
        for (const char* const spec :
             {"aats", "aats:mode=pipeline", "aats:np=on", "aats:ts=on", "aats:guard=on"}) {
            const outcome own = run(spec);
            EXPECT_NEAR(own.first, steal.first, 0.05 * steal.first) << spec << ": until it is seen";
            EXPECT_NEAR(own.later, steal.later, 0.02 * steal.later) << spec;
            EXPECT_GT(own.exposures, 0u) << spec << ": what was spawned is in pools, and not hidden";
            EXPECT_EQ(own.exchanges, 0u) << spec;
        }
    }
}

TEST(aats, a_batch_is_not_taken_for_divide_and_conquer) {
    modelled m(make_policy("aats"), eight_fast_and_eight_slow(), 1);
    m.run([] {
        for (int k = 0; k < 4; ++k) {
            task_group batch;
            for (int i = 0; i < 64; ++i)
                batch.run([] { parallel_for(0, 64, [](int) { cost(1000); }); }, {.name = "outer"});
            batch.wait();
        }
    });
    std::uint64_t exposures = 0;
    for (int w = 0; w < 16; ++w) exposures += m.engine.worker_at(w).count.exposures.get();
    EXPECT_EQ(exposures, 0u);
}

/// Children of a batch whose task waits for one of them in a loop, and does not say so.
TEST(aats, a_task_that_waits_in_a_loop_gets_its_child) {
    modelled m(make_policy("aats"), eight_fast_and_eight_slow(), 1);
    bool done = false;
    int turns = 0;
    m.run([&] {
        task_group g;
        g.run([&] { done = true; });
        while (!done && turns < 1'000'000) ++turns, this_task::yield();
        g.wait();
    });
    EXPECT_TRUE(done);
    EXPECT_LT(turns, 1'000'000);
}

} // namespace
} // namespace weft
