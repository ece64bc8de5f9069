// ctest: labels=not_tsan
// Locks that a policy is told of, in virtual time; acs and bis, to the nanosecond.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/modelled.hpp"
#include "engine/unequal.hpp"
#include "policy/fake_context.hpp"
#include "policy/parts/places.hpp"

namespace weft {
namespace {

using test::compute;
using test::core;
using test::fast_and_slow;
using test::modelled;
using test::now;

constexpr time_ns us = 1000, begin = 10 * us;

/// Runs `body[c]` on core c, all at the same time; when each ended, since then.
struct at_once {
    std::vector<time_ns> ended;
    std::uint64_t exchanges = 0;

    at_once(const std::string& policy, int slow, time_ns exchange,
            const std::vector<std::function<void()>>& body)
        : ended(body.size()) {
        modelled m(policy, fast_and_slow(slow, exchange));
        time_ns base = 0;
        const auto piece = [&] {
            const auto c = static_cast<std::size_t>(core());
            const time_ns left = base + begin - now();
            cost(static_cast<std::uint64_t>(c == 0 ? 2 * left
                                                   : left)); // a cycle is a nanosecond on a slow core
            EXPECT_EQ(now(), base + begin);
            body[c]();
            ended[c] = now() - base - begin;
        };
        m.run([&] {
            base = now();
            task_group g;
            for (std::size_t i = 1; i < body.size(); ++i) g.run(piece);
            piece();
            g.wait();
        });
        for (int w = 0; w <= slow; ++w) exchanges += m.engine.worker_at(w).count.exchanges.get();
        exchanges /= 2;
    }
};

// On the slow core: 10 us of work, 10 us under a lock, 10 us. On the fast one: 100 us. An exchange takes 1 us.
//   slow  0..20 work; 20: exchange; 21..31 on the fast core; 31: exchange; 32..52 work
//   fast  0..20 work (20 us); 21..31 on the slow core (5 us); 32..107 work (75 us)
TEST(acs, a_critical_section_runs_on_the_fast_core_and_pays_for_the_way) {
    mutex m;
    int inside = -1, behind = -1;
    const at_once run("acs", 1, 1 * us,
                      {[] { compute(100 * us); },
                       [&] {
                           compute(10 * us);
                           m.lock();
                           compute(10 * us);
                           inside = core();
                           m.unlock();
                           behind = core();
                           compute(10 * us);
                       }});
    EXPECT_EQ(run.ended, (std::vector<time_ns>{107 * us, 52 * us}));
    EXPECT_EQ(inside, 0);
    EXPECT_EQ(behind, 1);
    EXPECT_EQ(run.exchanges, 2u);
    // Without it: 20 us each on the slow core.
    mutex n;
    const at_once plain("steal-parent-first", 1, 1 * us,
                        {[] { compute(100 * us); },
                         [&] {
                             compute(10 * us);
                             n.lock();
                             compute(10 * us);
                             n.unlock();
                             compute(10 * us);
                         }});
    EXPECT_EQ(plain.ended, (std::vector<time_ns>{100 * us, 60 * us}));
}

TEST(acs, locks_within_locks_are_one_section) {
    mutex a, b;
    const at_once run("acs", 1, 0,
                      {[] { compute(100 * us); },
                       [&] {
                           a.lock();
                           compute(5 * us);
                           b.lock();
                           compute(5 * us);
                           b.unlock();
                           EXPECT_EQ(core(), 0);
                           compute(5 * us);
                           a.unlock();
                           EXPECT_EQ(core(), 1);
                           ASSERT_TRUE(b.try_lock());
                           EXPECT_EQ(core(), 0);
                           b.unlock();
                       }});
    EXPECT_EQ(run.ended[1], 15 * us);
    EXPECT_EQ(run.exchanges, 4u);
}

// Both slow cores want the one fast core, for different locks. The second goes on where it is: 10 us take 20.
TEST(acs, a_fast_core_serves_one_section_at_a_time) {
    mutex a, b;
    const auto section = [](mutex& m) {
        return [&m] {
            m.lock();
            compute(10 * us);
            m.unlock();
        };
    };
    const at_once run("acs", 2, 0, {[] { compute(100 * us); }, section(a), section(b)});
    EXPECT_EQ(run.ended[1] + run.ended[2], 30 * us);
    EXPECT_EQ(run.exchanges, 2u);
}

// A critical section on the fast core stays there.
TEST(acs, a_fast_core_keeps_its_own_sections) {
    mutex m;
    const at_once run("acs", 1, 0,
                      {[&] {
                           m.lock();
                           compute(10 * us);
                           m.unlock();
                       },
                       [] { compute(50 * us); }});
    EXPECT_EQ(run.ended, (std::vector<time_ns>{10 * us, 100 * us}));
    EXPECT_EQ(run.exchanges, 0u);
}

// Under its lock the slow worker's task waits for another lock, and gives the fast core back meanwhile.
TEST(acs, a_section_that_blocks_gives_the_fast_core_back) {
    mutex outer, inner;
    const at_once run("acs", 1, 0,
                      {[&] {
                           inner.lock();
                           compute(30 * us);
                           inner.unlock();
                           compute(10 * us);
                       },
                       [&] {
                           compute(5 * us); // 10 us
                           outer.lock();    // on the fast core; the other task has 20 us left
                           inner.lock();    // at once: on the slow core again, until 30
                           EXPECT_EQ(core(), 0);
                           compute(10 * us);
                           inner.unlock();
                           outer.unlock();
                           EXPECT_EQ(core(), 1);
                       }});
    EXPECT_EQ(run.ended[1], 40 * us);
    EXPECT_EQ(run.exchanges, 4u);
}

/// The hooks of a policy on four cores, of which the first is fast; locks 0, 1 and 2.
struct by_hand {
    std::unique_ptr<policy> p;
    machine m = fast_and_slow(3, 0);
    test::fake_context context{4};
    std::array<test::task_with_bytes, 4> tasks{}; ///< by worker

    explicit by_hand(const std::string& spec) : p(make_policy(spec)) { p->attach(m, context); }
    void at(time_ns t) { context.time = t; }
    void waits(worker_id w, std::uint32_t lock) {
        p->lock_waits(w, tasks[static_cast<std::size_t>(w)], lock);
    }
    void taken(worker_id w, std::uint32_t lock) {
        p->lock_taken(w, tasks[static_cast<std::size_t>(w)], lock);
    }
    void released(worker_id w, std::uint32_t lock) {
        p->lock_released(w, tasks[static_cast<std::size_t>(w)], lock);
    }
    using pairs = std::vector<std::pair<worker_id, worker_id>>;
};

// Lock 1 is waited for from 10 to 30, lock 2 by two tasks from 50 to 55. There is one fast core.
TEST(bis, the_lock_that_tasks_have_waited_for_longest_gets_the_fast_core) {
    by_hand b("bis");
    b.taken(1, 0); // no task has waited
    b.taken(2, 1);
    b.at(10);
    b.waits(3, 1);
    b.at(30);
    b.released(2, 1);
    EXPECT_EQ(b.context.exchanged, by_hand::pairs{});
    b.taken(3, 1); // waited: 20
    EXPECT_EQ(b.context.exchanged, (by_hand::pairs{{3, 0}}));
    b.at(40);
    b.released(3, 1);
    EXPECT_EQ(b.context.exchanged, (by_hand::pairs{{3, 0}, {3, 0}}));
    EXPECT_EQ(b.context.cores, (std::vector{0, 1, 2, 3}));
    b.taken(0, 2); // on the fast core itself
    b.at(50);
    b.waits(2, 2);
    b.waits(3, 2);
    b.at(55);
    b.released(0, 2);
    b.taken(2, 2); // waited: 10, less than the 20 of lock 1
    EXPECT_EQ(b.context.exchanged.size(), 2u);
    b.at(70);
    b.released(2, 2);
    b.taken(3, 2); // 10 and 15 of the second task
    EXPECT_EQ(b.context.exchanged.back(), (std::pair<worker_id, worker_id>(3, 0)));
    EXPECT_EQ(b.context.exchanged.size(), 3u);
}

TEST(bis, waits_are_forgotten_by_halves) {
    by_hand b("bis:waited_ns=15,forget_us=1");
    b.taken(1, 0);
    b.waits(2, 0);
    b.at(20);
    b.released(1, 0);
    b.taken(2, 0); // waited: 20
    EXPECT_EQ(b.context.exchanged.size(), 1u);
    b.released(2, 0);
    b.at(1000);
    b.taken(2, 0); // 10
    EXPECT_EQ(b.context.exchanged.size(), 2u);
    b.released(2, 0);
}

// Two locks on three slow cores: one that two tasks want, and one that no task waits for.
TEST(bis, only_the_contended_lock_is_accelerated) {
    mutex hot, cold;
    std::vector<int> cold_cores, hot_cores;
    const auto use = [&](mutex& m, std::vector<int>& seen, int times) {
        return [&m, &seen, times] {
            for (int i = 0; i < times; ++i) {
                m.lock();
                compute(10 * us);
                seen.push_back(core());
                m.unlock();
            }
        };
    };
    const at_once run("bis", 3, 0,
                      {[] { compute(400 * us); }, use(cold, cold_cores, 4), use(hot, hot_cores, 4),
                       use(hot, hot_cores, 4)});
    EXPECT_EQ(cold_cores, (std::vector{1, 1, 1, 1}));
    EXPECT_EQ(std::count(hot_cores.begin(), hot_cores.end(), 0),
              7); // all but the first, for which none had waited
}

TEST(locks, are_told_by_numbers_in_the_order_of_their_use) {
    struct telling final : policy {
        std::vector<std::string>& to;
        bool asks;
        places own;
        telling(std::vector<std::string>& list, bool all) : to(list), asks(all) {}
        requirements attach(const machine&, policy_context& c) override {
            own.attach(c);
            return {.locks = asks};
        }
        placement ready(worker_id w, task& t, ready_reason r) override { return own.put(w, t, r); }
        decision next(worker_id w, bool last) override {
            const decision found = own.own(w, last);
            return found.t ? found : own.look_outside(w, last, false);
        }
        workers victims(worker_id) override { return {}; }
        spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }
        void say(const char* what, std::uint32_t lock) { to.push_back(what + std::to_string(lock)); }
        void lock_waits(worker_id, task&, std::uint32_t l) override { say("waits ", l); }
        void lock_taken(worker_id, task&, std::uint32_t l) override { say("taken ", l); }
        void lock_released(worker_id, task&, std::uint32_t l) override { say("released ", l); }
    };
    for (const bool asks : {true, false}) {
        std::vector<std::string> told;
        mutex a, b;
        {
            modelled m(std::make_unique<telling>(told, asks), test::equal_cores(1));
            m.run([&] {
                b.lock();
                task_group g;
                g.run([&] {
                    EXPECT_FALSE(b.try_lock());
                    a.lock();
                    b.lock();
                    b.unlock();
                    a.unlock();
                });
                this_task::yield();
                b.unlock();
                g.wait();
            });
        }
        if (!asks) {
            EXPECT_EQ(told, std::vector<std::string>{});
            continue;
        }
        EXPECT_EQ(told, (std::vector<std::string>{"taken 0", "taken 1", "waits 0", "released 0", "taken 0",
                                                  "released 0", "released 1"}));
    }
    EXPECT_FALSE(impl::locks_are_watched());
}

TEST(locks, policies_that_are_told_of_them_are_refused_on_threads) {
    for (const char* const spec : {"acs", "bis:waited_ns=5", "chaos:of=acs"}) {
        runtime_options o;
        o.policy = spec;
        o.workers = 2;
        o.engine = "threads";
        try {
            const runtime rt(o);
            ADD_FAILURE() << spec << " was taken";
        } catch (const error& e) {
            const std::string told = e.what();
            EXPECT_NE(told.find("modelled machines only"), std::string::npos) << told;
            EXPECT_NE(told.find(spec), std::string::npos) << told;
            EXPECT_NE(told.find("WEFT_ENGINE=model"), std::string::npos) << told;
        }
        EXPECT_FALSE(impl::locks_are_watched());
    }
}

} // namespace
} // namespace weft
