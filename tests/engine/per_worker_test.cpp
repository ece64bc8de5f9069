// Storage of each worker: one element for each, made when it is asked for, and combined in a fixed order.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/modelled.hpp"
#include "engine/support.hpp"

namespace weft {
namespace {

class storage : public testing::TestWithParam<test::setup> {
protected:
    runtime rt_{GetParam().options()};
};

INSTANTIATE_TEST_SUITE_P(all, storage,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite,
                                                                test::worker_counts)),
                         test::setup_name{});

TEST_P(storage, a_sum_has_every_iteration) {
    constexpr long n = 20'000;
    per_worker<long> sums;
    EXPECT_TRUE(sums.empty());
    rt_.run([&] { parallel_for(0L, n, [&](long i) { sums.local() += i; }, {.grain = 50}); });
    EXPECT_EQ(sums.combine(std::plus<>()), n * (n - 1) / 2);
    EXPECT_GE(sums.size(), 1u);
    EXPECT_LE(sums.size(), static_cast<std::size_t>(GetParam().workers));
    EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0L), n * (n - 1) / 2);
}

// Between two calls that may wait, an element is the caller's alone: plain increments get lost otherwise.
TEST_P(storage, a_worker_keeps_its_element) {
    struct mine {
        int worker = -1;
        long visits = 0;
    };
    per_worker<mine> all;
    std::atomic<int> strangers{0};
    const auto visit = [&] {
        mine& m = all.local();
        if (m.visits++ == 0) m.worker = this_task::worker();
        if (m.worker != this_task::worker()) ++strangers;
    };
    const auto tree = [&](const auto& self, int depth) -> void {
        visit();
        if (depth == 0) return;
        task_group g;
        g.run([&] { self(self, depth - 1); });
        visit();
        join([&] { self(self, depth - 1); }, [&] { visit(); });
        g.wait();
        visit();
    };
    rt_.run([&] { tree(tree, 7); });
    EXPECT_EQ(strangers.load(), 0);
    long visits = 0;
    all.combine_each([&](const mine& m) { visits += m.visits; });
    EXPECT_EQ(visits, 127 * 4 + 128); // 127 inner calls of four visits, 128 leaves
}

// The construction of an element waits, so the worker meets other tasks that ask for one, and may be another one
// at the end.
TEST_P(storage, a_maker_may_wait) {
    std::atomic<int> made{0};
    per_worker<std::unique_ptr<int>> all([&] {
        ++made;
        parallel_for(0, 8, [](int) { this_task::yield(); }, {.grain = 1});
        return std::make_unique<int>(0);
    });
    constexpr int uses = test::sanitized ? 40 : 200;
    rt_.run([&] { parallel_for(0, uses, [&](int) { ++*all.local(); }, {.grain = 1}); });
    EXPECT_LE(all.size(), static_cast<std::size_t>(GetParam().workers));
    EXPECT_GE(made.load(), static_cast<int>(all.size()));
    int sum = 0;
    for (const auto& each : all) sum += *each;
    EXPECT_EQ(sum, uses);
}

TEST(per_worker, makes_elements_as_it_was_told) {
    per_worker<int> zero;
    EXPECT_EQ(zero.local(), 0);
    per_worker<std::string> copy("abc");
    EXPECT_EQ(copy.local(), "abc");
    per_worker<std::vector<int>> length(3, 7);
    EXPECT_EQ(length.local(), (std::vector{7, 7, 7}));
    per_worker<std::vector<int>> made([] { return std::vector{1, 2}; });
    EXPECT_EQ(made.local(), (std::vector{1, 2}));
    per_worker<std::function<int()>> value([] { return 5; }); // a value, not a function that makes one
    EXPECT_EQ(value.local()(), 5);
    struct cannot_move {
        explicit cannot_move(int n) : number(n) {}
        cannot_move(const cannot_move&) = delete;
        cannot_move& operator=(const cannot_move&) = delete;
        int number;
    };
    per_worker<cannot_move> in_place(9);
    EXPECT_EQ(in_place.local().number, 9);
    per_worker<cannot_move> returned([] { return cannot_move(11); });
    EXPECT_EQ(returned.local().number, 11);
    static_assert(!std::is_constructible_v<per_worker<cannot_move>>);
    static_assert(!std::is_constructible_v<per_worker<int>, std::string>);
}

TEST(per_worker, tells_whether_the_element_exists) {
    per_worker<int> all(4);
    bool exists = true;
    EXPECT_EQ(all.local(exists), 4);
    EXPECT_FALSE(exists);
    all.local() = 6;
    EXPECT_EQ(all.local(exists), 6);
    EXPECT_TRUE(exists);
    all.clear();
    EXPECT_EQ(all.size(), 0u);
    EXPECT_EQ(all.local(exists), 4);
    EXPECT_FALSE(exists);
}

TEST(per_worker, combines_nothing_to_a_fresh_element) {
    const per_worker<int> all(4);
    EXPECT_EQ(all.combine(std::plus<>()), 4);
    EXPECT_TRUE(all.empty());
}

TEST(per_worker, destroys_every_element) {
    test::lives made;
    {
        per_worker<test::tracked> all([&] { return test::tracked(made); });
        runtime rt({.workers = 3, .pin = "off"});
        for (int again = 0; again < 2; ++again) {
            rt.run([&] { parallel_for(0, 300, [&](int) { all.local().value++; }, {.grain = 1}); });
            EXPECT_EQ(made.alive(), static_cast<int>(all.size()));
            if (again == 0) all.clear();
        }
    }
    test::expect_all_dead(made);
}

TEST(per_worker, an_element_that_cannot_be_made_is_not_there) {
    bool fails = true;
    per_worker<int> all([&] { return fails ? throw test::failure{3} : 1; });
    EXPECT_EQ(test::failure_of([&] { all.local(); }), 3);
    EXPECT_TRUE(all.empty());
    fails = false;
    EXPECT_EQ(all.local(), 1);
}

TEST(per_worker, elements_lie_on_lines_of_their_own) {
    per_worker<char> small;
    struct alignas(256) wide {
        char c = 0;
    };
    per_worker<wide> large;
    std::vector<std::thread> threads;
    std::atomic<int> ready{0};
    for (int t = 0; t < 6; ++t)
        threads.emplace_back([&] {
            small.local() = 1;
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&large.local()) % 256, 0u);
            ++ready;
            EXPECT_TRUE(
                test::await([&] { return ready.load() == 6; })); // none has the address of one that ended
        });
    for (auto& t : threads) t.join();
    std::set<std::uintptr_t> lines;
    for (const char& each : small) lines.insert(reinterpret_cast<std::uintptr_t>(&each) / impl::line_bytes);
    EXPECT_EQ(lines.size(), 6u);
    EXPECT_EQ(large.size(), 6u);
}

// A plain thread has an element, and uses that of a worker while it works in the worker's place.
TEST(per_worker, a_thread_in_the_place_of_a_worker) {
    runtime rt({.workers = 1, .pin = "off"});
    per_worker<int> all;
    int* const own = &all.local();
    const auto me = std::this_thread::get_id();
    std::set<int*> of_worker;
    bool was_here = false, was_not = false;
    EXPECT_TRUE(test::await([&] {
        rt.run([&] {
            (std::this_thread::get_id() == me ? was_here : was_not) = true;
            of_worker.insert(&all.local());
        });
        return was_here;
    }));
    EXPECT_EQ(of_worker.size(), 1u); // one worker, on whatever thread
    EXPECT_FALSE(of_worker.contains(own));
    EXPECT_EQ(&all.local(), own);
    EXPECT_EQ(all.size(), 2u);
}

TEST(per_worker, runtimes_at_the_same_time) {
    runtime one({.workers = 2, .pin = "off"}), two({.workers = 2, .pin = "off"});
    per_worker<long> sums;
    std::set<long*> of_one, of_two;
    const auto collect = [&](runtime& rt, std::set<long*>& into) {
        mutex guard;
        rt.run([&] {
            parallel_for(0, 5000, [&](int) {
                long& own = sums.local();
                ++own;
                const std::lock_guard held(guard);
                into.insert(&own);
            });
        });
    };
    std::thread other([&] { collect(two, of_two); });
    collect(one, of_one);
    other.join();
    EXPECT_EQ(sums.combine(std::plus<>()), 10'000);
    for (long* each : of_one) EXPECT_FALSE(of_two.contains(each));
    EXPECT_LE(sums.size(), 4u);

    // Inside a task of one runtime, run() of the other one gives tasks of the other's workers.
    one.run([&] {
        long* const outer = &sums.local();
        two.run([&] { EXPECT_NE(&sums.local(), outer); });
    });
}

// Many owners: the lists of elements have several entries.
TEST(per_worker, many_owners) {
    constexpr int threads = test::sanitized ? 50 : 300;
    per_worker<int> all;
    std::atomic<int> ready{0};
    std::vector<std::thread> several;
    for (int t = 0; t < threads; ++t)
        several.emplace_back([&, t] {
            all.local() = t;
            ++ready;
            EXPECT_TRUE(test::await([&] { return ready.load() == threads; }));
            EXPECT_EQ(all.local(), t);
        });
    for (auto& t : several) t.join();
    EXPECT_EQ(all.size(), static_cast<std::size_t>(threads));
    EXPECT_EQ(all.combine(std::plus<>()), threads * (threads - 1) / 2);
}

// On a modelled machine: virtual workers, in the order of their ranks, the same ones in every run.
TEST(per_worker, combines_in_the_same_order_in_every_modelled_run) {
    const auto run = [](std::uint64_t seed) {
        test::modelled m("steal", test::equal_cores(8), seed);
        per_worker<std::string> who([] { return std::to_string(this_task::worker()) + ":"; });
        m.run([&] {
            parallel_for(0, 400, [&](int i) {
                cost(static_cast<std::uint64_t>(100 + 37 * i % 200));
                who.local() += std::to_string(i) + ",";
            });
        });
        EXPECT_EQ(who.size(), 8u);
        std::vector<int> ranks;
        for (const auto& each : who) ranks.push_back(each[0] - '0');
        EXPECT_EQ(ranks, (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
        return who.combine(std::plus<>());
    };
    const std::string first = run(1);
    EXPECT_EQ(run(1), first);
    EXPECT_NE(run(2), first);
}

} // namespace
} // namespace weft
