// The model engine in closed forms: what a program takes in virtual time where its costs are known.
#include "engine/model/model_engine.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "machine/load.hpp"
#include "policy/registry.hpp"

namespace weft {
namespace {

/// Cores in one domain, of speed 1; a cycle is a nanosecond. `more` is added to the description.
machine cores(int count, const std::string& more) {
    return parse_toml(
        "name = 'm'\n[[core_class]]\nname = 'c'\nfrequency_mhz = 1000\n[regular]\ncores_per_domain = " +
            std::to_string(count) + "\n" + more,
        "test");
}

const std::string free_of_charge =
    "[charges]\nfork_ns = 0\nspawn_ns = 0\nstart_ns = 0\nsuspend_ns = 0\nwait_ns = 0\n"
    "look_ns = 0\nlook_away_ns = 0\nlock_ns = 0\nwake_ns = 0\nwoken_ns = 0\n"
    "exposure_ns = 0\nsignal_ns = 0\n";

/// A model whose runtime costs nothing, or what is given.
struct modelled {
    engine::model_engine engine;

    explicit modelled(int workers, const std::string& policy = "steal",
                      const std::string& more = free_of_charge, time_ns patience = 0, std::uint64_t seed = 1)
        : engine(make_policy(policy), cores(workers, more),
                 {.workers = workers, .seed = seed, .patience = patience}) {}

    /// Virtual time that `f` takes as a root.
    template <class F>
    time_ns run(F f) {
        engine.settle();
        engine::run_root(engine, {[](void* c) { (*static_cast<F*>(c))(); }, &f});
        const auto s = *engine.last_measured_run();
        return s.ended - s.began;
    }
};

void tree(int depth, std::uint64_t leaf) {
    if (depth == 0) return cost(leaf);
    join([=] { tree(depth - 1, leaf); }, [=] { tree(depth - 1, leaf); });
}

const std::vector<std::string> policies = {
    "steal", "near", "share", "steal-parent-first", "steal:zone=reported", "serial"};

TEST(model_engine, one_worker_takes_the_sum_of_all_costs) {
    for (const auto& p : policies) {
        modelled m(1, p);
        EXPECT_EQ(m.run([] { tree(6, 1000); }), 64'000) << p;
        EXPECT_EQ(m.run([] {
            task_group g;
            for (int i = 0; i < 10; ++i) g.run([] { cost(7); });
            cost(30);
            g.wait();
        }),
                  100)
            << p;
    }
}

TEST(model_engine, a_chain_takes_its_length_whatever_the_workers) {
    for (const int workers : {1, 2, 8}) {
        modelled m(workers);
        EXPECT_EQ(m.run([] {
            for (int i = 0; i < 100; ++i) cost(10);
        }),
                  1000);
    }
}

TEST(model_engine, balanced_trees_are_divided_evenly) {
    for (const int workers : {2, 4, 8}) {
        modelled m(workers);
        EXPECT_EQ(m.run([] { tree(6, 1000); }), 64'000 / workers) << workers;
    }
}

TEST(model_engine, the_same_seed_is_the_same_history) {
    for (const auto& p : policies) {
        const auto once = [&](std::uint64_t seed) {
            modelled m(p == "serial" ? 1 : 4, p, "", 100'000, seed);
            const auto took = m.run([] { tree(10, 3000); });
            m.engine.settle();
            return std::pair(took, m.engine.history);
        };
        EXPECT_EQ(once(1), once(1)) << p;
    }
}

TEST(model_engine, sleeps_are_of_virtual_time) {
    modelled m(2);
    EXPECT_EQ(m.run([] { this_task::sleep_for(std::chrono::hours(10)); }), 36'000'000'000'000);
}

} // namespace
} // namespace weft
