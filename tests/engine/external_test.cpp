// Threads that are no workers: a call of run() works in the place of a worker that sleeps, groups made outside are
// seen by the policy.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

#include "engine/bare_engine.hpp"
#include "engine/run/default_engine.hpp"

namespace weft {
namespace {

using test::fib;

// The default runtime of this program, before its first use.
[[maybe_unused]] const bool one_worker = [] {
    setenv("WEFT_WORKERS", "1", 1);
    return true;
}();

class external : public testing::TestWithParam<test::setup> {
protected:
    static engine::thread_engine_options options() {
        auto o = test::options_of(GetParam().workers);
        o.spin_time = std::chrono::milliseconds(1);
        return o;
    }
    test::bare_engine bare_{GetParam().policy, options()};
};

INSTANTIATE_TEST_SUITE_P(all, external,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite, {1, 3})),
                         test::setup_name{});

TEST_P(external, the_caller_runs_its_root) {
    for (const char* name : {"serial", "adws", "ml-adws", "hws"})
        if (GetParam().policy.starts_with(name) && GetParam().workers > 1)
            GTEST_SKIP() << "the policy says which worker begins with a root";
    // Not at once: the workers have just been made, and may look for work.
    const auto me = std::this_thread::get_id();
    EXPECT_TRUE(test::await([&] {
        bool here = false;
        bare_.run([&] { here = std::this_thread::get_id() == me; });
        return here;
    }));
    EXPECT_EQ(impl::hot_self(), nullptr);
}

TEST_P(external, work_in_the_place_is_the_worker_s) {
    long sum = 0;
    const int runs = test::rounds(test::sanitized ? 15 : 50);
    for (int i = 0; i < runs; ++i)
        bare_.run([&] {
            EXPECT_GE(this_task::worker(), 0);
            EXPECT_LT(this_task::worker(), GetParam().workers);
            sum += fib(12);
        });
    EXPECT_EQ(sum, 144L * runs);
}

// P1 of engine/threads/README.md: the threads end while workers ask for entries.
TEST_P(external, many_threads_that_come_and_go) {
    const int threads = 4, runs = test::sanitized ? 5 : 20;
    for (int round = 0; round < test::rounds(test::sanitized ? 2 : 4); ++round) {
        std::atomic<long> sum{0};
        std::vector<std::thread> all;
        for (int t = 0; t < threads; ++t)
            all.emplace_back([&] {
                for (int i = 0; i < runs; ++i) bare_.run([&] { sum += fib(10); });
            });
        for (auto& t : all) t.join();
        EXPECT_EQ(sum, 55L * threads * runs);
    }
}

TEST_P(external, exceptions_of_the_caller_and_of_the_root_are_kept_apart) {
    for (int i = 0; i < test::rounds(20); ++i) {
        try {
            throw std::runtime_error("the caller's");
        } catch (const std::runtime_error&) {
            EXPECT_THROW(bare_.run([] {
                try {
                    throw std::logic_error("caught in the root");
                } catch (const std::logic_error&) { static_cast<void>(fib(8)); }
                throw std::domain_error("the root's");
            }),
                         std::domain_error);
            try {
                throw;
            } catch (const std::runtime_error& e) { EXPECT_STREQ(e.what(), "the caller's"); }
        }
    }
    EXPECT_EQ(std::uncaught_exceptions(), 0);
}

TEST_P(external, the_thread_is_left_as_it_was) {
    stack_t before{}, after{};
    sigaltstack(nullptr, &before);
    for (int i = 0; i < test::rounds(20); ++i) bare_.run([] { static_cast<void>(fib(8)); });
    sigaltstack(nullptr, &after);
    EXPECT_EQ(before.ss_sp, after.ss_sp);
    EXPECT_EQ(before.ss_flags, after.ss_flags);
    EXPECT_EQ(impl::hot_self(), nullptr);
    EXPECT_EQ(impl::hot_head(), nullptr);
}

// A root that waits for another thread's root while there is one worker: the thread's own root must get the place.
TEST_P(external, a_caller_that_waits_does_not_keep_the_place_from_others) {
    for (int i = 0; i < test::rounds(20); ++i) {
        latch second(1);
        std::thread other([&] { bare_.run([&] { second.count_down(); }); });
        bare_.run([&] { second.wait(); });
        other.join();
    }
}

// ---- the steps of taking and leaving a place

struct two_sleepers : testing::Test {
    test::bare_engine bare{"steal", [] {
                               auto o = test::options_of(2);
                               o.spin_time = std::chrono::nanoseconds(0);
                               return o;
                           }()};
    engine::thread_engine& engine = bare.engine;

    void SetUp() override { ASSERT_TRUE(both_sleep()); }
    bool both_sleep() const {
        return test::await([&] { return engine.parked.count() == 2; }) &&
               test::await([&] { return at(0).count.asleep.is_open() && at(1).count.asleep.is_open(); });
    }
    engine::thread_worker& at(std::size_t rank) const { return *engine.all_workers[rank]; }
    /// Runs it in the place of a worker; false if that is not so within some time.
    template <class F>
    bool run_here(F&& f) {
        const auto me = std::this_thread::get_id();
        return test::await([&] {
            bool here = false;
            bare.run([&] {
                if ((here = std::this_thread::get_id() == me))
                    f(static_cast<engine::thread_worker&>(*impl::hot_self()));
            });
            return here;
        });
    }
};

TEST_F(two_sleepers, wakes_that_are_pending_at_the_place_are_passed_on) {
    ASSERT_TRUE(both_sleep());
    std::uint64_t parks[2];
    for (std::size_t w : {0U, 1U}) {
        parks[w] = at(w).count.parks.get();
        at(w).pending_wakes.store(engine::pack({0, 2}));
    }
    EXPECT_TRUE(run_here([&](const engine::thread_worker& here) {
        const std::size_t other = here.id == 0 ? 1 : 0;
        EXPECT_TRUE(test::await([&] { return at(other).count.parks.get() > parks[other]; }))
            << "it was not woken";
    }));
}

TEST_F(two_sleepers, a_signal_that_comes_too_late_is_not_the_last) {
    engine::thread_worker* was = nullptr;
    EXPECT_TRUE(run_here([&](engine::thread_worker& here) {
        was = &here;
        here.signal_out.store(true); // as if it were on its way
    }));
    ASSERT_TRUE(was);
    EXPECT_FALSE(was->signal_out.load());
}

TEST_F(two_sleepers, place_of_a_worker_that_a_team_calls_is_not_taken) {
    const auto me = std::this_thread::get_id();
    engine.outermost.calls.fetch_add(1);
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(both_sleep());
        bare.run([&] { EXPECT_NE(std::this_thread::get_id(), me); });
    }
    engine.outermost.calls.fetch_sub(1);
}

TEST_F(two_sleepers, no_place_is_lent_if_the_engine_does_not_want_it) {
    engine.lends_places = false;
    const auto me = std::this_thread::get_id();
    for (int i = 0; i < 20; ++i) bare.run([&] { EXPECT_NE(std::this_thread::get_id(), me); });
}

// A storm of signals that reach the own threads while external ones work in their places: P2 of engine/threads/README.md.
TEST_F(two_sleepers, signals_to_own_threads_do_no_harm) {
    std::atomic<bool> over{false};
    std::thread storm([&] {
        while (!over.load(std::memory_order_relaxed))
            for (const auto& w : engine.all_workers) pthread_kill(w->thread, SIGURG);
    });
    for (int i = 0; i < test::rounds(200); ++i) bare.run([] { EXPECT_EQ(fib(12), 144); });
    over = true;
    storm.join();
}

// ---- groups made outside, in the default runtime with one worker

std::int32_t roots_so_far() { return engine::default_engine().roots.load(); }

TEST(group_made_outside, is_one_root_for_the_policy) {
    for (int round = 0; round < test::rounds(20); ++round) {
        const auto before = roots_so_far();
        std::atomic<bool> all_added{false};
        std::atomic<int> ran{0};
        task_group g;
        for (int i = 0; i < 1000; ++i)
            g.run([&] {
                while (!all_added.load(std::memory_order_acquire)) {}
                ++ran;
            });
        all_added.store(true, std::memory_order_release);
        g.wait();
        EXPECT_EQ(ran, 1000);
        EXPECT_EQ(roots_so_far() - before, 1);
    }
}

TEST(group_made_outside, runs_its_children_before_the_wait) {
    std::atomic<bool> ran{false};
    task_group g;
    g.run([&] { ran.store(true, std::memory_order_release); });
    EXPECT_TRUE(test::await(ran));
    g.wait();
}

TEST(group_made_outside, takes_children_from_many_threads) {
    for (int round = 0; round < test::rounds(10); ++round) {
        std::atomic<int> ran{0};
        task_group g;
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < 300; ++i) g.run([&] { ++ran; });
            });
        for (auto& t : threads) t.join();
        g.wait();
        EXPECT_EQ(ran, 900);
    }
}

TEST(group_made_outside, rethrows_and_is_used_again) {
    task_group g;
    for (int round = 0; round < test::rounds(20); ++round) {
        std::atomic<int> ran{0};
        for (int i = 0; i < 10; ++i)
            g.run([&, i] {
                ++ran;
                if (i == 5) throw std::runtime_error("one of ten");
            });
        EXPECT_THROW(g.wait(), std::runtime_error);
        EXPECT_EQ(ran, 10);
    }
}

TEST(group_made_outside, drops_its_children_when_it_is_cancelled) {
    struct counted {
        std::atomic<int>* alive;
        explicit counted(std::atomic<int>& a) : alive(&a) { ++*alive; }
        counted(const counted& other) : alive(other.alive) { ++*alive; }
        counted& operator=(const counted&) = delete;
        ~counted() { --*alive; }
        void operator()() const {}
    };
    for (int round = 0; round < test::rounds(20); ++round) {
        std::atomic<int> alive{0};
        std::atomic<bool> go{false};
        task_group first, g;
        first.run([&] { // keeps the one worker
            while (!go.load(std::memory_order_acquire)) {}
        });
        for (int i = 0; i < 100; ++i) g.run(counted(alive));
        g.cancel();
        go.store(true, std::memory_order_release);
        first.wait();
        g.wait();
        EXPECT_EQ(alive, 0);
    }
}

} // namespace
} // namespace weft
