// ctest: tsan_cases=*another_thread*:*one_worker*:*take_turns*
//
// The model engine in closed forms: what a program takes in virtual time where its costs are known.
#include "engine/modelled.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

using test::equal_cores;
using test::modelled;

void tree(int depth, std::uint64_t leaf) {
    if (depth == 0) return cost(leaf);
    join([=] { tree(depth - 1, leaf); }, [=] { tree(depth - 1, leaf); });
}

const std::vector<std::string> policies = {
    "steal", "near", "share", "steal-parent-first", "steal:zone=reported", "serial", "chaos:of=steal"};

TEST(model_engine, one_worker_takes_the_sum_of_all_costs) {
    for (const auto& p : policies) {
        modelled m(p, equal_cores(1));
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
        modelled m("steal", equal_cores(workers));
        EXPECT_EQ(m.run([] {
            for (int i = 0; i < 100; ++i) cost(10);
        }),
                  1000);
    }
}

TEST(model_engine, balanced_trees_are_divided_evenly) {
    for (const int workers : {2, 4, 8}) {
        modelled m("steal", equal_cores(workers));
        EXPECT_EQ(m.run([] { tree(6, 1000); }), 64'000 / workers) << workers;
    }
}

TEST(model_engine, independent_tasks_end_as_a_list_schedule_does) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937 random(seed);
        std::vector<std::uint64_t> costs(40);
        for (auto& c : costs) c = 1 + random() % 1000;
        for (const int workers : {1, 3, 8}) {
            // The worker that is free first takes the next task of the list.
            std::vector<std::uint64_t> free_at(static_cast<std::size_t>(workers));
            for (const auto c : costs) *std::min_element(free_at.begin(), free_at.end()) += c;
            modelled m("share:order=fifo", equal_cores(workers));
            EXPECT_EQ(m.run([&] {
                task_group g;
                for (const auto c : costs) g.run([c] { cost(c); });
                g.wait();
            }),
                      static_cast<time_ns>(*std::max_element(free_at.begin(), free_at.end())))
                << "seed " << seed << ", " << workers << " workers";
        }
    }
}

TEST(model_engine, fractions_of_a_nanosecond_add_up) {
    modelled m("steal", test::cores{.frequency_mhz = 3000}.build());
    EXPECT_EQ(m.run([] {
        for (int i = 0; i < 3'000'000; ++i) cost(1);
    }),
              1'000'000);
}

TEST(model_engine, the_same_seed_is_the_same_history) {
    for (const auto& p : policies) {
        const auto once = [&](std::uint64_t seed) {
            const int workers = p == "serial" ? 1 : 4;
            const test::cores on{.cores_per_domain = workers, .cost = test::runtime_cost::usual};
            modelled m(make_policy(p), on.build(), seed, 100'000);
            const auto took = m.run([] { tree(10, 3000); });
            m.engine.wait_until_quiescent();
            return std::pair(took, m.engine.sim->event_hash);
        };
        EXPECT_EQ(once(1), once(1)) << p;
        if (p == "steal") { EXPECT_NE(once(1), once(2)) << "the seed decides which victim a thief looks at"; }
    }
}

TEST(model_engine, sleeps_are_of_virtual_time) {
    modelled m("steal", equal_cores(2));
    EXPECT_EQ(m.run([] { this_task::sleep_for(std::chrono::hours(10)); }), 36'000'000'000'000);
}

TEST(model_engine, tasks_that_wait_for_each_other_take_turns) {
    for (const auto& p : policies) {
        modelled m(p, equal_cores(p == "serial" ? 1 : 2));
        EXPECT_EQ(m.run([] {
            counting_semaphore<> ping(0), pong(0);
            task_group g;
            g.run([&] {
                for (int i = 0; i < 100; ++i) {
                    ping.acquire();
                    cost(3);
                    pong.release();
                }
            });
            for (int i = 0; i < 100; ++i) {
                cost(2);
                ping.release();
                pong.acquire();
            }
            g.wait();
        }),
                  500)
            << p;
    }
}

TEST(model_engine, a_mutex_is_held_in_virtual_time) {
    modelled m("steal", equal_cores(4));
    mutex one_at_a_time;
    EXPECT_EQ(m.run([&] {
        task_group g;
        for (int i = 0; i < 4; ++i)
            g.run([&] {
                cost(100);
                one_at_a_time.lock();
                cost(1000);
                one_at_a_time.unlock();
            });
        g.wait();
    }),
              4100);
}

TEST(model_engine, workers_that_never_sleep_find_work_and_let_the_program_end) {
    for (const auto& p : policies) {
        const test::cores on{.cores_per_domain = p == "serial" ? 1 : 4, .cost = test::runtime_cost::usual};
        modelled m(make_policy(p), on.build(), 1, engine::spin_forever);
        for (int i = 0; i < 3; ++i) EXPECT_LT(m.run([] { tree(6, 1000); }), 70'000) << p;
        EXPECT_GE(m.run([] { this_task::sleep_for(std::chrono::milliseconds(1)); }), 1'000'000) << p;
    }
}

TEST(model_engine, workers_that_look_on_ask_for_work_and_stop_when_they_become_inactive) {
    const test::cores on{.cores_per_domain = 4, .cost = test::runtime_cost::usual};
    for (const char* p : {"steal:wide=steal", "near:wide=steal", "steal:zone=reported", "share"}) {
        modelled m(make_policy(p), on.build(), 1, engine::spin_forever);
        EXPECT_LT(m.run([] { tree(6, 10'000); }), 240'000) << p;
        const time_ns with_fewer = m.run([&] {
            m.engine.resize(1); // the worker that runs this may be another one, and goes on
            tree(6, 10'000);
            m.engine.resize(4);
        });
        EXPECT_GE(with_fewer, 300'000) << p;
        EXPECT_LT(m.run([] { tree(6, 10'000); }), 240'000) << p;
    }
}

TEST(model_engine, what_is_dealt_to_a_worker_that_waits_for_an_answer_begins_at_once) {
    // A little later than its neighbour a worker begins to look, and asks that one, which has begun its own
    // piece and answers no sooner than it ends.
    constexpr int sweeps = 10, piece = 36'000;
    const test::cores on{.cores_per_domain = 8, .cost = test::runtime_cost::usual};
    modelled with(make_policy("static"), on.build(), 1, engine::spin_forever);
    const time_ns took = with.run([] {
        for (int sweep = 0; sweep < sweeps; ++sweep) parallel_for(0, 8, [](int) { cost(piece); });
    });
    EXPECT_LT(took, sweeps * (piece + 3'000));
}

TEST(model_engine, looking_for_work_takes_time_even_where_it_is_free) {
    modelled m(make_policy("steal"), equal_cores(4), 1, 50);
    EXPECT_EQ(m.run([] { cost(1000); }), 1000);
}

TEST(model_engine, another_thread_may_end_a_wait) {
    modelled m("steal", equal_cores(2));
    latch from_outside(1);
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        from_outside.count_down();
    });
    EXPECT_EQ(m.run([&] {
        cost(10);
        from_outside.wait();
        cost(10);
    }),
              20);
    other.join();
}

/// One queue for all, under a number of its own choice.
struct far_place final : policy {
    explicit far_place(place_id at) : place(at) {}
    requirements attach(const machine&, policy_context& on) override {
        context = &on;
        return {};
    }
    placement ready(worker_id, task& t, ready_reason) override {
        tasks.push_back(&t);
        return {place, context->active()};
    }
    decision next(worker_id, bool) override {
        if (tasks.empty()) return {nullptr, place};
        task* const t = tasks.front();
        tasks.erase(tasks.begin());
        return {t, place};
    }
    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

    const place_id place;
    policy_context* context = nullptr;
    std::vector<task*> tasks;
};

TEST(model_engine, a_policy_may_give_its_places_any_numbers) {
    const auto time_of = [](place_id at) {
        test::modelled m(std::make_unique<far_place>(at),
                         test::cores{.cores_per_domain = 2, .cost = test::runtime_cost::usual}.build());
        return m.run([] {
            task_group g;
            for (int i = 0; i < 10; ++i) g.run([] { cost(100); });
            g.wait();
        });
    };
    EXPECT_EQ(time_of(std::numeric_limits<place_id>::max()), time_of(2));
}

} // namespace
} // namespace weft
