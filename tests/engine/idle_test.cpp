// Idle workers: how long they look for work before they sleep (WEFT_SPIN), and what they do meanwhile where
// they are more than the cores.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "api/options.hpp"
#include "engine/bare_engine.hpp"
#include "machine/workers.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

using test::fib;

long by_group(int n) {
    std::atomic<long> sum{0};
    task_group g;
    for (int i = 0; i < n; ++i) g.run([&] { sum += fib(8); });
    g.wait();
    return sum;
}

std::uint64_t parks(const test::bare_engine& e) {
    std::uint64_t sum = 0;
    for (const auto& w : e.engine.all_workers) sum += w->count.parks.get();
    return sum;
}

struct patience {
    const char* name;
    std::chrono::microseconds spin;
};

class patiences : public testing::TestWithParam<std::tuple<std::string, patience>> {};

INSTANTIATE_TEST_SUITE_P(
    all, patiences,
    testing::Combine(testing::ValuesIn(test::policies_of_suite),
                     testing::Values(patience{"none", 0us}, patience{"short", 1us}, patience{"usual", 100us},
                                     patience{"endless", std::chrono::microseconds::max()})),
    [](const auto& of) {
        return test::setup_name{}(testing::TestParamInfo<test::setup>({std::get<0>(of.param), 3}, 0)) + "_" +
               std::get<1>(of.param).name;
    });

TEST_P(patiences, change_no_result) {
    const auto& [policy, p] = GetParam();
    runtime_options o = test::setup{policy, 3}.options();
    o.spin = p.spin;
    runtime rt(o);
    for (int i = 0; i < (test::sanitized ? 2 : 5); ++i) {
        EXPECT_EQ(rt.run([] { return fib(12) + by_group(20); }), 144 + 20 * 21);
        std::this_thread::sleep_for(1ms); // most of them sleep now
    }
    // A second half that can run only beside the first one needs a worker that wakes up for it.
    if (policy == "serial") return;
    std::atomic<bool> set{false};
    rt.run([&] {
        join([&] { EXPECT_TRUE(test::await(set)); }, [&] { set.store(true, std::memory_order_release); });
    });
}

TEST(idle, without_patience_all_sleep_soon) {
    auto o = test::options_of(3);
    o.spin_time = 0ns;
    test::bare_engine e("steal", o);
    EXPECT_TRUE(test::await([&] { return e.engine.parked.count() == 3; }));
    e.run([] { EXPECT_EQ(by_group(50), 50 * 21); });
    // Both at once: a worker whose last look, made from `parked`, finds a late wake searches once more.
    EXPECT_TRUE(test::await([&] { return e.engine.parked.count() == 3 && e.engine.searching.empty(); }));
}

TEST(idle, for_ever_no_worker_sleeps) {
    auto o = test::options_of(2);
    o.spin_time = std::chrono::hours(24 * 365);
    test::bare_engine e("steal", o);
    for (int i = 0; i < 10; ++i) {
        e.run([] { EXPECT_EQ(by_group(10), 10 * 21); });
        std::this_thread::sleep_for(2ms);
    }
    EXPECT_EQ(parks(e), 0u);
    EXPECT_EQ(e.engine.parked.count(), 0u);
}

TEST(idle, more_workers_than_cores_are_oversubscribed) {
    auto o = test::options_of(3);
    o.cores = 2;
    EXPECT_TRUE(test::bare_engine("steal", o).engine.oversubscribed);
    o.cores = 3;
    EXPECT_FALSE(test::bare_engine("steal", o).engine.oversubscribed);
}

TEST(idle, the_environment_says_how_long) {
    const auto spin = [](const char* text) {
        setenv("WEFT_SPIN", text, 1);
        const auto patience = api::resolve({}).threads.spin_time;
        unsetenv("WEFT_SPIN");
        return patience;
    };
    EXPECT_GT(spin("forever"), 1000h);
    EXPECT_EQ(spin("0"), 0ns);
    EXPECT_EQ(spin("250"), 250us);
    EXPECT_EQ(spin(""), 100us);
}

TEST(workers_within, a_quota) {
    EXPECT_EQ(workers_within(8, std::nullopt), 8);
    EXPECT_EQ(workers_within(8, 0.2), 1);
    EXPECT_EQ(workers_within(8, 2.4), 2);
    EXPECT_EQ(workers_within(8, 2.5), 3);
    EXPECT_EQ(workers_within(8, 100.0), 8);
    EXPECT_GE(usable_cores(), 1);
}

} // namespace
} // namespace weft
