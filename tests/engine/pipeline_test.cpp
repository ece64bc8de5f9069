// Pipelines: every item passes every stage once, serial stages take one at a time, in order where that is asked for, and no
// more items than tokens are on their way.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/support.hpp"

namespace weft {
namespace {

/// A policy, a number of workers, and which engine.
struct where {
    test::setup setup;
    bool modelled = false;

    runtime_options options() const {
        runtime_options o = setup.options();
        if (!modelled) return o;
        o.pin = "compact";
        o.engine = "model";
        o.machine = WEFT_SOURCE_DIR "/machines/opteron-8380-4x4.toml";
        return o;
    }
    friend std::ostream& operator<<(std::ostream& out, const where& w) {
        return out << w.setup << (w.modelled ? " of the model" : "");
    }
};

std::vector<where> everywhere() {
    std::vector<where> all;
    for (const test::setup& s : test::setups_in_turn(test::policies_of_suite, test::worker_counts)) {
        all.push_back({s, false});
        if (!test::thread_sanitized) all.push_back({s, true}); // a modelled run has one thread
    }
    return all;
}

struct where_name {
    std::string operator()(const testing::TestParamInfo<where>& info) const {
        std::string name = info.param.setup.policy + "_" + std::to_string(info.param.setup.workers) +
                           (info.param.modelled ? "_model" : "");
        for (char& c : name)
            if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
        return name;
    }
};

class pipelines : public testing::TestWithParam<where> {
protected:
    runtime rt_{GetParam().options()};
};

INSTANTIATE_TEST_SUITE_P(all, pipelines, testing::ValuesIn(everywhere()), where_name());

/// 0, 1, ..., count - 1.
auto numbers(int count) {
    return [i = 0, count]() mutable -> std::optional<int> {
        return i < count ? std::optional(i++) : std::nullopt;
    };
}

// ---- what a stage does and sees

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    std::uint64_t z = a * 0x9e3779b97f4a7c15u + b;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    return z ^ (z >> 29);
}

struct item {
    std::uint64_t number = 0, value = 0;
    std::unique_ptr<int> owned{};
};

/// A stage of a random pipeline: checks its promise (P1 of pipeline/README.md), and does some of the things that a stage may do.
struct random_stage {
    impl::stage_kind kind = impl::stage_kind::parallel;
    std::uint64_t salt = 0;
    mutex* lock = nullptr;
    int inside = 0;         // of a serial stage: plain, so that ThreadSanitizer sees two at a time
    std::uint64_t next = 0; // likewise
    std::atomic<std::uint64_t> passed{0};

    void operator()(item& i) {
        if (kind != impl::stage_kind::parallel) {
            EXPECT_EQ(++inside, 1);
            if (kind == impl::stage_kind::serial_in_order) { EXPECT_EQ(i.number, next); }
            ++next;
        }
        EXPECT_EQ(*i.owned, static_cast<int>(i.number));
        switch (mixed(salt, i.number) % 24) {
        case 0: this_task::yield(); break;
        case 1: EXPECT_EQ(test::fib(6), 8); break;
        case 2: {
            const std::lock_guard guard(*lock);
            this_task::yield();
            break;
        }
        case 3: async([] { this_task::yield(); }).get(); break;
        case 4: {
            task_group g;
            for (int k = 0; k < 3; ++k) g.run([] { this_task::yield(); });
            g.wait();
            break;
        }
        default: break;
        }
        i.value = mixed(i.value, salt);
        if (kind != impl::stage_kind::parallel) --inside;
        passed.fetch_add(1, std::memory_order_relaxed);
    }
};

template <impl::stage_kind Kind>
auto stage_calling(random_stage& s) {
    s.kind = Kind;
    const auto f = [&s](item& i) { s(i); };
    if constexpr (Kind == impl::stage_kind::parallel)
        return stage::parallel(f);
    else if constexpr (Kind == impl::stage_kind::serial)
        return stage::serial(f);
    else
        return stage::serial_in_order(f);
}

struct drawn {
    int items, tokens;
    std::uint64_t seed;
};

template <impl::stage_kind First, impl::stage_kind A, impl::stage_kind B, impl::stage_kind C>
void run_random(const drawn& d) {
    mutex lock;
    std::array<random_stage, 3> stages;
    for (std::size_t k = 0; k < 3; ++k) {
        stages[k].salt = mixed(d.seed, k);
        stages[k].lock = &lock;
    }
    std::atomic<int> given{0}, on_their_way{0};
    std::vector<std::uint64_t> results(static_cast<std::size_t>(d.items), 0);
    std::atomic<std::uint64_t> order{0};
    const auto make = [&]() -> std::optional<item> {
        // The order of a parallel first stage is that of its returns, so only a serial one can number its items.
        const int i = given.fetch_add(1);
        if (i >= d.items) return std::nullopt;
        EXPECT_LE(++on_their_way, d.tokens);
        const auto n = static_cast<std::uint64_t>(i);
        return item{n, mixed(d.seed, n), std::make_unique<int>(i)};
    };
    const auto take = [&](item i) {
        results[i.number] = i.value;
        --on_their_way;
        ++order;
    };
    const auto first = [&] {
        if constexpr (First == impl::stage_kind::parallel)
            return stage::parallel(make);
        else
            return stage::serial(make);
    };
    pipeline p(first(), stage_calling<A>(stages[0]), stage_calling<B>(stages[1]), stage_calling<C>(stages[2]),
               stage::parallel(take));
    p.run(static_cast<std::size_t>(d.tokens));
    EXPECT_EQ(order.load(), static_cast<std::uint64_t>(d.items));
    for (std::size_t i = 0; i < results.size(); ++i) {
        std::uint64_t expected = mixed(d.seed, i);
        for (const random_stage& s : stages) expected = mixed(expected, s.salt);
        ASSERT_EQ(results[i], expected) << "item " << i;
    }
    for (const random_stage& s : stages) EXPECT_EQ(s.passed.load(), static_cast<std::uint64_t>(d.items));
}

template <std::size_t N>
void run_kinds(const drawn& d) {
    constexpr auto kind = [](std::size_t n) { return static_cast<impl::stage_kind>(n % 3); };
    constexpr auto a = kind(N), b = kind(N / 3), c = kind(N / 9);
    // Items of a parallel first stage are not in the order of their numbers.
    constexpr bool any_order = a != impl::stage_kind::serial_in_order &&
                               b != impl::stage_kind::serial_in_order &&
                               c != impl::stage_kind::serial_in_order;
    run_random<any_order && N % 2 == 0 ? impl::stage_kind::parallel : impl::stage_kind::serial, a, b, c>(d);
}

TEST_P(pipelines, do_what_serial_programs_do) {
    WEFT_SEEDED;
    constexpr std::size_t kinds = 27;
    const auto all = []<std::size_t... N>(std::index_sequence<N...>) {
        return std::array<void (*)(const drawn&), kinds>{run_kinds<N>...};
    }(std::make_index_sequence<kinds>());
    std::mt19937_64 random(test::seed);
    for (int round = 0; round < test::rounds(30); ++round) {
        const drawn d{static_cast<int>(random() % 60), 1 + static_cast<int>(random() % 9), random()};
        const std::size_t kind = random() % kinds;
        SCOPED_TRACE("kinds " + std::to_string(kind) + ", " + std::to_string(d.items) + " items, " +
                     std::to_string(d.tokens) + " tokens, seed " + std::to_string(d.seed));
        rt_.run([&] { all[kind](d); });
        if (HasFailure()) return;
    }
}

TEST_P(pipelines, run_again_with_other_numbers_of_tokens) {
    int made = 0;
    std::vector<int> taken;
    pipeline p(stage::serial(
                   [&]() -> std::optional<int> { return made < 100 ? std::optional(made++) : std::nullopt; }),
               stage::parallel([](int i) { return i + 1; }),
               stage::serial_in_order([&](int i) { taken.push_back(i); }));
    for (const std::size_t tokens : {5, 1, 5, 200, 3}) {
        made = 0;
        taken.clear();
        rt_.run([&] { p.run(tokens); });
        ASSERT_EQ(taken.size(), 100U);
        for (int i = 0; i < 100; ++i) EXPECT_EQ(taken[static_cast<std::size_t>(i)], i + 1);
    }
}

// All tokens stop (P3 of pipeline/README.md); what is left in them is destroyed, nothing twice (P4 of pipeline/README.md).
TEST_P(pipelines, an_exception_at_each_stage_and_item_ends_the_run) {
    constexpr int items = 7;
    for (int at = 0; at < 4; ++at) {
        for (int n = 0; n < items; n += test::sanitized ? 3 : 1) {
            test::lives lives;
            int made = 0;
            std::atomic<bool> throws{true};
            const auto may_throw = [&](int stage, int i) {
                if (throws && stage == at && i == n) throw test::failure{stage * 100 + i};
            };
            std::vector<int> taken;
            pipeline p(stage::serial([&]() -> std::optional<test::tracked> {
                           if (made == items) return std::nullopt;
                           may_throw(0, made);
                           return test::tracked(lives, made++);
                       }),
                       stage::parallel([&](test::tracked t) {
                           may_throw(1, t.value);
                           return std::make_unique<test::tracked>(std::move(t));
                       }),
                       stage::serial([&](std::unique_ptr<test::tracked>& t) { may_throw(2, t->value); }),
                       stage::serial_in_order([&](std::unique_ptr<test::tracked> t) {
                           may_throw(3, t->value);
                           taken.push_back(t->value);
                       }));
            EXPECT_EQ(test::failure_of([&] { rt_.run([&] { p.run(3); }); }), at * 100 + n);
            EXPECT_EQ(lives.alive(), 0);
            EXPECT_EQ(lives.misused.load(), 0);
            EXPECT_LE(taken.size(), static_cast<std::size_t>(n + (at == 3 ? 0 : items)));
            throws = false;
            made = 0;
            taken.clear();
            rt_.run([&] { p.run(3); });
            ASSERT_EQ(taken.size(), std::size_t{items});
            for (int i = 0; i < items; ++i) EXPECT_EQ(taken[static_cast<std::size_t>(i)], i);
            EXPECT_EQ(lives.alive(), 0);
        }
    }
}

TEST_P(pipelines, are_cancelled_from_inside) {
    test::lives lives;
    std::atomic<int> made{0}, made_before{0}, taken{0};
    std::atomic<bool> seen{false};
    std::function<void()> cancel;
    pipeline p(stage::serial([&]() -> std::optional<test::tracked> { return test::tracked(lives, made++); }),
               stage::parallel([&](test::tracked& t) {
                   if (t.value != 20) return;
                   cancel();
                   made_before = made.load();
                   if (this_task::is_cancelled()) seen = true;
               }),
               stage::serial([&](test::tracked) { ++taken; }));
    cancel = [&] { p.cancel(); };
    rt_.run([&] { p.run(4); });
    EXPECT_TRUE(seen);
    EXPECT_LE(taken.load(), made);
    EXPECT_LE(made, made_before + 1) << "the first stage may have been at work";
    test::expect_all_dead(lives);
    p.cancel(); // it does not run: nothing happens
    made = 0;
    seen = false;
    rt_.run([&] { p.run(1); });
    EXPECT_TRUE(seen);
    EXPECT_EQ(made, 21);
}

TEST_P(pipelines, are_cancelled_with_the_group_around_them) {
    test::lives lives;
    int made = 0;
    rt_.run([&] {
        task_group g;
        g.run([&] {
            pipeline p(stage::serial([&]() -> std::optional<test::tracked> {
                           if (made == 15) g.cancel();
                           return test::tracked(lives, made++);
                       }),
                       stage::parallel([](test::tracked&) {}), stage::serial([](test::tracked) {}));
            p.run(4);
        });
        g.wait();
    });
    EXPECT_EQ(made, 16);
    test::expect_all_dead(lives);
}

TEST_P(pipelines, nest) {
    std::atomic<int> sum{0};
    rt_.run([&] {
        pipeline outer(stage::serial(numbers(6)), stage::parallel([](int i) {
                           int of_this = 0;
                           pipeline inner(stage::serial(numbers(i)),
                                          stage::parallel([](int j) { return j + 1; }),
                                          stage::serial_in_order([&](int j) { of_this += j; }));
                           inner.run(3);
                           return of_this;
                       }),
                       stage::parallel([&](int i) { sum += i; }));
        outer.run(4);
    });
    EXPECT_EQ(sum.load(), 0 + 1 + 3 + 6 + 10 + 15);
}

// Item 2 k waits for item 2 k + 1, which is behind it: a stage that waits holds no worker, and the run has not ended (P2 of pipeline/README.md).
TEST_P(pipelines, stages_may_wait_for_later_items) {
    std::vector<std::unique_ptr<latch>> came;
    for (int i = 0; i < 10; ++i) came.push_back(std::make_unique<latch>(1));
    std::vector<int> taken;
    rt_.run([&] {
        pipeline p(stage::serial(numbers(20)), stage::parallel([&](int i) {
                       latch& both = *came[static_cast<std::size_t>(i / 2)];
                       if (i % 2 == 0)
                           both.wait();
                       else
                           both.count_down();
                       return i;
                   }),
                   stage::serial_in_order([&](int i) { taken.push_back(i); }));
        p.run(2);
    });
    ASSERT_EQ(taken.size(), 20U);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(taken[static_cast<std::size_t>(i)], i);
}

TEST_P(pipelines, a_serial_stage_that_waits_keeps_its_promise) {
    int inside = 0, passed = 0;
    rt_.run([&] {
        pipeline p(stage::parallel([n = std::make_unique<std::atomic<int>>(0)]() -> std::optional<int> {
                       const int i = n->fetch_add(1);
                       return i < 50 ? std::optional(i) : std::nullopt;
                   }),
                   stage::serial([&](int&) {
                       EXPECT_EQ(++inside, 1);
                       this_task::yield();
                       async([] { this_task::yield(); }).get();
                       --inside;
                   }),
                   stage::serial([&](int) { ++passed; }));
        p.run(6);
    });
    EXPECT_EQ(passed, 50);
}

TEST_P(pipelines, no_more_items_than_tokens_are_on_their_way_in_a_long_run) {
    const int items = test::sanitized || GetParam().modelled ? 2'000 : 20'000;
    std::uint64_t sum = 0;
    std::atomic<int> alive{0}, most{0};
    rt_.run([&] {
        pipeline p(stage::serial(numbers(items)), stage::parallel([&](int i) {
                       const int now = alive.fetch_add(1) + 1;
                       int seen = most.load();
                       while (seen < now && !most.compare_exchange_weak(seen, now)) {}
                       return static_cast<std::uint64_t>(i);
                   }),
                   stage::serial_in_order([&](std::uint64_t i) {
                       sum = sum * 3 + i;
                       --alive;
                   }));
        p.run(8);
    });
    std::uint64_t expected = 0;
    for (int i = 0; i < items; ++i) expected = expected * 3 + static_cast<std::uint64_t>(i);
    EXPECT_EQ(sum, expected);
    EXPECT_LE(most.load(), 8);
}

} // namespace
} // namespace weft
