// How much of their stacks tasks have used: run_stats::stack_high_water.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "engine/bare_engine.hpp"

namespace weft {
namespace {

constexpr std::size_t kib = 1024;

/// Uses 4 KiB a level, and a little.
[[gnu::noinline]] int descend(int levels) { // NOLINT(misc-no-recursion)
    volatile std::byte room[4 * kib];
    room[0] = std::byte{1};
    room[sizeof room - 1] = std::byte{1};
    return levels == 0 ? 0 : descend(levels - 1) + static_cast<int>(room[0]);
}

/// Pages of a stack come one by one.
bool pages_are_small() {
    std::ifstream in("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string text;
    std::getline(in, text);
    return text.find("[always]") == std::string::npos;
}

/// What `levels` levels need, with room for what the runtime and a sanitizer need besides.
void expect_levels(std::size_t touched, std::size_t levels) {
    EXPECT_GE(touched, levels * 4 * kib);
    if (!test::sanitized && pages_are_small()) { EXPECT_LE(touched, levels * 5 * kib + 24 * kib); }
}

class stacks : public testing::TestWithParam<test::setup> {};

INSTANTIATE_TEST_SUITE_P(all, stacks,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite, {1, 2})),
                         test::setup_name{});

TEST_P(stacks, of_a_known_depth_are_reported) {
    runtime rt(GetParam().options());
    EXPECT_EQ(rt.stats().stack_bytes, 8 * 1024 * kib);
    rt.run([] {});
    const auto at_rest = rt.stats().stack_high_water;
    EXPECT_GT(at_rest, 0u);
    EXPECT_LE(at_rest, 64 * kib);
    for (const int levels : {50, 100, 20}) { // it never falls
        rt.run([=] {
            task_group g;
            g.run([=] { EXPECT_EQ(descend(levels), levels); });
            g.wait();
        });
        expect_levels(rt.stats().stack_high_water, levels == 50 ? 50 : 100);
    }
    EXPECT_LT(rt.stats().stack_high_water, rt.stats().stack_bytes);
}

// NOLINTNEXTLINE(misc-no-recursion)
long chain(int n) {
    if (n == 0) return 0;
    const auto [rest, one] = join([n] { return chain(n - 1); }, [] { return 1L; });
    return rest + one;
}

/// In each order of spawning. The stacks are the same under the other policies of an order, which the stress tests take.
class deep_stacks : public testing::TestWithParam<test::setup> {};

INSTANTIATE_TEST_SUITE_P(all, deep_stacks,
                         testing::ValuesIn(test::more_rounds > 1
                                               ? test::setups(test::all_policies, {1, 2})
                                               : test::setups({"steal", "steal:zone=reported",
                                                               "steal-parent-first", "share", "cab"},
                                                              {1, 2})),
                         test::setup_name{});

TEST_P(deep_stacks, are_deep_enough_for_a_join_20000_deep) {
    constexpr int depth = test::sanitized ? 500 : 20'000;
    runtime rt(GetParam().options());
    EXPECT_EQ(rt.run([] { return chain(depth); }), depth);
}

std::size_t resident_bytes() {
    std::ifstream in("/proc/self/statm");
    std::size_t all = 0, resident = 0;
    in >> all >> resident;
    return resident * 4 * kib;
}

TEST(stack_high_water, outlasts_the_pages_of_a_deep_call) {
    if (test::sanitized || !pages_are_small()) GTEST_SKIP() << "memory is not given page by page";
    auto o = test::options_of(2);
    test::bare_engine e("steal", o);
    e.run([] { descend(1500); }); // 6 MiB
    const std::size_t after = resident_bytes();
    EXPECT_TRUE(test::await([&] { return resident_bytes() + 5 * 1024 * kib < after; }))
        << after << ' ' << resident_bytes();
    expect_levels(e.engine.fibers.stack_high_water(), 1500);
}

TEST(stack_high_water, counts_stacks_that_were_unmapped) {
    auto o = test::options_of(1);
    o.keep_fibers = 0;
    test::bare_engine e("share", o);
    e.run([] {
        // Tasks that wait in a row, each on a stack; the first of them went deep.
        task_group g;
        for (int i = 0; i < 200; ++i)
            g.run([i] {
                descend(i == 0 ? 80 : 1);
                task_group inner;
                inner.run([] {});
                inner.wait();
            });
        g.wait();
    });
    EXPECT_TRUE(test::await([&] { return e.engine.fibers.mapped() < 100; }));
    expect_levels(e.engine.fibers.stack_high_water(), 80);
}

TEST(stack_high_water, may_be_asked_for_while_stacks_come_and_go) {
    auto o = test::options_of(2);
    o.keep_fibers = 4;
    test::bare_engine e("share", o);
    std::atomic<bool> stop{false};
    std::thread asks([&] {
        std::size_t before = 0;
        while (!stop) {
            const std::size_t now = e.engine.fibers.stack_high_water();
            EXPECT_GE(now, before);
            before = now;
        }
    });
    for (int i = 0; i < (test::sanitized ? 2 : 10); ++i)
        e.run([] {
            task_group g;
            for (int k = 0; k < 100; ++k)
                g.run([] {
                    task_group inner;
                    inner.run([] {});
                    inner.wait();
                });
            g.wait();
        });
    stop = true;
    asks.join();
}

TEST(stack_high_water, of_large_and_odd_stacks) {
    for (const std::size_t bytes : {std::size_t{100'000}, std::size_t{64} << 20}) {
        runtime_options o = test::setup{"steal", 1}.options();
        o.stack_bytes = bytes;
        runtime rt(o);
        rt.run([] { descend(10); });
        EXPECT_GE(rt.stats().stack_bytes, bytes);
        EXPECT_LT(rt.stats().stack_bytes, bytes + 64 * kib);
        expect_levels(rt.stats().stack_high_water, 10);
    }
}

} // namespace
} // namespace weft
