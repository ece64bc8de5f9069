// The ticks that a policy asks for, and the snapshots of what workers run: in virtual time exactly, on threads by outcome.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/bare_engine.hpp"
#include "engine/modelled.hpp"

namespace weft {
namespace {

constexpr std::int64_t us = 1000, ms = 1000 * us;

/// Another policy with ticks, at which it notes what all workers run.
class watching final : public policy {
public:
    struct note {
        time_ns at;
        std::vector<snapshot> workers;
    };
    struct notes {
        std::mutex lock;
        std::vector<note> all;
        std::atomic<int> ticks{0};
        std::atomic<int> inside{0};
        std::atomic<bool> overlapped{false};
    };

    watching(const std::string& of, time_ns period, notes& to, bool calls = false)
        : of_(make_policy(of))
        , period_(period)
        , to_(to)
        , calls_(calls) {}

    requirements attach(const machine& m, policy_context& c) override {
        context_ = &c;
        requirements r = of_->attach(m, c);
        r.tick = period_;
        r.snapshots = true;
        return r;
    }
    placement ready(worker_id w, task& t, ready_reason r) override { return of_->ready(w, t, r); }
    decision next(worker_id w, bool last_look) override { return of_->next(w, last_look); }
    workers victims(worker_id w) override { return of_->victims(w); }
    spawn_order spawn(worker_id w, task& p, task& c) override {
        return calls_ ? spawn_order::call : of_->spawn(w, p, c);
    }
    void tick(time_ns now) override {
        if (to_.inside++ != 0) to_.overlapped = true;
        note n{now, {}};
        for (worker_id w = 0; w < context_->all().last; ++w) n.workers.push_back(context_->running(w));
        {
            const std::lock_guard held(to_.lock);
            to_.all.push_back(std::move(n));
        }
        ++to_.ticks;
        --to_.inside;
    }

private:
    std::unique_ptr<policy> of_;
    const time_ns period_;
    notes& to_;
    const bool calls_;
    policy_context* context_ = nullptr;
};

TEST(policy_ticks, come_at_the_multiples_of_the_period_while_a_worker_works) {
    watching::notes seen;
    test::modelled m(std::make_unique<watching>("share", 300 * us, seen), test::equal_cores(2));
    m.run([] { cost(1'000'000); });
    m.run([] {
        this_task::sleep_for(std::chrono::milliseconds(2)); // no worker works: no ticks until 3 ms
        cost(400'000);
    });
    std::vector<time_ns> at;
    for (const auto& n : seen.all) at.push_back(n.at);
    EXPECT_EQ(at, (std::vector<time_ns>{300 * us, 600 * us, 900 * us, 3'300 * us}));
}

TEST(policy_ticks, a_policy_that_asks_for_none_gets_none) {
    watching::notes seen;
    test::modelled m(std::make_unique<watching>("share", 0, seen), test::equal_cores(2));
    m.run([] { cost(1'000'000); });
    EXPECT_TRUE(seen.all.empty());
}

TEST(policy_ticks, snapshots_say_what_each_worker_runs_and_since_when) {
    watching::notes seen;
    test::modelled m(std::make_unique<watching>("share", 100 * us, seen), test::equal_cores(3));
    m.run([] {
        task_group g;
        g.run([] { cost(250'000); }, {.name = "long", .priority = 3, .preempt = preemption::yield});
        g.run(
            [] {
                cost(50'000);
                this_task::sleep_for(std::chrono::microseconds(100)); // until 150 us
                cost(200'000);
            },
            {.name = "sleeper"});
        g.wait();
    });
    ASSERT_GE(seen.all.size(), 3U);
    const auto of = [&](std::size_t tick, const std::string& name) {
        for (const snapshot& s : seen.all[tick].workers)
            if (s.busy && s.name == name) return s;
        return snapshot{};
    };
    EXPECT_EQ(seen.all[0].at, 100 * us);
    EXPECT_TRUE(of(0, "long").busy);
    EXPECT_EQ(of(0, "long").since, 0);
    EXPECT_EQ(of(0, "long").priority, 3);
    EXPECT_EQ(of(0, "long").preempt, preemption::yield);
    EXPECT_NE(of(0, "long").id, 0U);
    EXPECT_FALSE(of(0, "sleeper").busy) << "it sleeps";
    EXPECT_EQ(of(1, "long").since, 0);
    EXPECT_TRUE(of(1, "sleeper").busy);
    EXPECT_EQ(of(1, "sleeper").since, 150 * us) << "it was resumed then";
    EXPECT_FALSE(of(2, "long").busy) << "it has ended";
    int idle = 0;
    for (const snapshot& s : seen.all[1].workers) idle += s.busy ? 0 : 1;
    EXPECT_EQ(idle, 1) << "the root waits";
}

TEST(policy_ticks, after_a_called_child_the_worker_runs_the_parent) {
    watching::notes seen;
    test::modelled m(std::make_unique<watching>("share", 100 * us, seen, true), test::equal_cores(1));
    m.run([] {
        task_group outer;
        outer.run(
            [] {
                task_group g;
                g.run([] { cost(150'000); }, {.name = "child"});
                cost(150'000);
                g.wait();
            },
            {.name = "parent"});
        outer.wait();
    });
    std::vector<std::string> names;
    for (const auto& n : seen.all) names.emplace_back(n.workers[0].name);
    EXPECT_EQ(names, (std::vector<std::string>{"child", "parent"}));
}

/// S7 of engine/idle/README.md.
TEST(policy_ticks, on_threads_they_come_while_work_lasts_and_rest_when_it_ends) {
    watching::notes seen;
    test::bare_engine on(std::make_unique<watching>("steal", ms, seen), test::options_of(2));
    for (int round = 0; round < test::rounds(3); ++round) {
        const int before = seen.ticks;
        on.run([&] { EXPECT_TRUE(test::await([&] { return seen.ticks >= before + 3; })); });
        // Soon no worker works, and the thread of the ticks rests.
        int rests_at = -1;
        EXPECT_TRUE(test::await([&] {
            const int now = seen.ticks;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            rests_at = seen.ticks;
            return rests_at == now;
        }));
    }
    EXPECT_FALSE(seen.overlapped);
}

} // namespace
} // namespace weft
