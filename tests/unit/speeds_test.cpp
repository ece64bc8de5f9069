// Emulated speeds without threads: the account of a worker, the machine, and where the workers are.
#include "api/speed_options.hpp"
#include "engine/threads/speeds/duty_cycle.hpp"
#include "machine/load.hpp"
#include "machine/speeds.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft {
namespace {

using engine::duty_cycle;
constexpr time_ns ms = 1'000'000;

// A worker of share 0.25 that runs all the time has used at 1 ms what it may use up to 4 ms.
TEST(duty_cycle, a_worker_pauses_until_its_share_is_right) {
    duty_cycle d;
    d.work_begins(0, 0, 0.25);
    d.charge(1 * ms, 1 * ms, 0.25);
    EXPECT_EQ(d.due(), 4 * ms);
    d.charge(5 * ms, 2 * ms, 0.25); // it slept 1 ms too long, and makes up for it
    EXPECT_EQ(d.due(), 8 * ms);
}

TEST(duty_cycle, a_worker_that_was_kept_from_its_core_makes_up_for_some_of_it) {
    duty_cycle d;
    d.work_begins(0, 0, 0.5);
    d.charge(100 * ms, 10 * ms, 0.5);
    EXPECT_EQ(d.due(), 100 * ms - duty_cycle::most_credit);
    d.charge(104 * ms, 14 * ms, 0.5); // 4 ms more: 8 ms of its time, of which it has 4 to make up for
    EXPECT_EQ(d.due(), 104 * ms);
}

TEST(duty_cycle, a_worker_without_work_makes_up_for_nothing_and_waits_for_what_it_owes) {
    duty_cycle d;
    d.work_begins(0, 0, 0.5);
    d.charge(1 * ms, 1 * ms, 0.5); // due: 2 ms
    d.work_begins(50 * ms, 3 * ms, 0.5);
    EXPECT_EQ(d.due(), 50 * ms);
    d.charge(51 * ms, 4 * ms, 0.5);
    d.work_begins(51 * ms + 1, 4 * ms, 0.5);
    EXPECT_EQ(d.due(), 52 * ms);
}

// The worker changes cores at 10 ms: up to then the share is 1, from then on a quarter.
TEST(duty_cycle, a_share_counts_from_the_charge_at_which_it_is_seen) {
    duty_cycle d;
    d.work_begins(0, 0, 1);
    d.charge(10 * ms, 10 * ms, 0.25);
    EXPECT_EQ(d.due(), 10 * ms);
    d.charge(11 * ms, 11 * ms, 1);
    EXPECT_EQ(d.due(), 14 * ms);
}

TEST(duty_cycle, a_thread_brings_its_own_clock) {
    duty_cycle d;
    d.work_begins(0, 500 * ms, 0.5);
    EXPECT_EQ(d.charge(1 * ms, 501 * ms, 0.5).used, 1 * ms); // before it leaves
    d.thread_comes(2 * ms, 7 * ms, 0.5);
    const auto last = d.charge(3 * ms, 8 * ms, 0.5);
    EXPECT_EQ(last.used, 1 * ms);
    EXPECT_EQ(last.passed, 1 * ms);
    EXPECT_EQ(d.due(), 4 * ms);
}

std::string refusal(const std::string& text) {
    try {
        api::parse_speeds(text, "WEFT_SPEEDS=" + text, machine());
    } catch (const error& e) { return e.what(); }
    return "taken";
}

TEST(speeds, are_numbers_with_commas_between_them_or_those_of_the_machine) {
    EXPECT_EQ(api::parse_speeds("1,0.32,.5", "", machine()), (std::vector<double>{1, 0.32, 0.5}));
    const machine hikey = load_machine(WEFT_SOURCE_DIR "/machines/hikey960.toml");
    EXPECT_EQ(api::parse_speeds("machine", "", hikey), (std::vector<double>{1, 1, 1, 1, 0.8, 0.8, 0.8, 0.8}));
    for (const char* const bad :
         {"", "1,", ",1", "2", "0", "0.009", "-1", "1;1", "nan", "1,x", "1 ,1", "machines"}) {
        const std::string told = refusal(bad);
        EXPECT_NE(told.find(std::string("given: WEFT_SPEEDS=") + bad), std::string::npos) << told;
        EXPECT_NE(told.find("numbers from 0.01 to 1"), std::string::npos) << told;
    }
}

TEST(speeds, become_classes_of_the_cores_of_the_machine) {
    const machine m = load_machine("pack:2 core:2 pu:1");
    const machine four = with_speeds(m, std::vector<double>{1, 0.5, 1, 0.5});
    EXPECT_EQ(four.size(), 4);
    EXPECT_EQ(four.packages().size(), 2u);
    EXPECT_EQ(four.core_classes().size(), 2u);
    EXPECT_DOUBLE_EQ(four.speed_of(2), 1);
    EXPECT_DOUBLE_EQ(four.speed_of(3), 0.5);
    EXPECT_TRUE(four.is_heterogeneous());
    const machine two = with_speeds(m, std::vector<double>{1, 0.25});
    EXPECT_EQ(two.size(), 2);
    EXPECT_DOUBLE_EQ(two.speed_of(1), 0.25);
}

// More workers than cores: a package whose cores are like the first of the machine.
TEST(speeds, of_more_workers_than_cores_are_those_of_more_cores) {
    const machine m = load_machine("pack:2 l3:1 l2:2 core:1 pu:1");
    const std::vector<double> speeds{1, 1, 0.32, 0.32, 0.32, 0.32};
    const machine six = with_speeds(m, speeds);
    EXPECT_EQ(six.size(), 6);
    EXPECT_EQ(six.packages().size(), 1u);
    EXPECT_EQ(six.domains().size(), 1u);
    EXPECT_EQ(six.memory_nodes().size(), 1u);
    EXPECT_TRUE(six.is_modelled());
    for (int r = 0; r < 6; ++r) EXPECT_DOUBLE_EQ(six.speed_of(r), speeds[static_cast<std::size_t>(r)]);
    EXPECT_EQ(six.cache_of(0, 3)->shared_by, (rank_range{0, 6}));
    EXPECT_EQ(six.cache_of(4, 2)->shared_by, (rank_range{4, 5}));
}

TEST(speeds, are_spread_over_the_processing_units) {
    const machine m = load_machine("core:6 pu:1"); // none of whose cores is one of this computer
    const std::vector<int> cpus{4, 7};
    const std::vector<double> speeds{0.32, 1, 0.32, 1};
    const auto e = emulate_speeds(with_speeds(m, speeds), speeds, cpus, {}, true);
    EXPECT_EQ(e.cpus, (std::vector{4, 4, 7, 7}));
    EXPECT_DOUBLE_EQ(e.scale, most_of_a_shared_cpu / 1.32);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(e.shares[i], speeds[i] * e.scale);

    const std::vector<double> little{0.25, 0.25, 0.25, 0.125};
    EXPECT_DOUBLE_EQ(emulate_speeds(with_speeds(m, little), little, cpus, {}, true).scale, 1);
    // A worker alone on a unit may have all of it.
    const std::vector<double> alone{1, 0.5};
    EXPECT_DOUBLE_EQ(emulate_speeds(with_speeds(m, alone), alone, cpus, {}, true).scale, 1);
    const auto anywhere = emulate_speeds(with_speeds(m, speeds), speeds, cpus, {}, false);
    EXPECT_TRUE(anywhere.cpus.empty());
    EXPECT_DOUBLE_EQ(anywhere.scale, most_of_a_shared_cpu * 2 / 2.64);
    EXPECT_DOUBLE_EQ(emulate_speeds(with_speeds(m, alone), alone, cpus, 0.75, true).scale,
                     most_of_a_shared_cpu * 0.75 / 1.5);
}

TEST(speeds, a_core_of_this_computer_stays_where_it_is) {
    const machine here = this_machine();
    if (here.size() < 2) GTEST_SKIP() << "one core";
    const std::vector<double> speeds{0.5, 1};
    const auto e = emulate_speeds(with_speeds(here, speeds), speeds, usable_cpus(), {}, true);
    for (int r = 0; r < 2; ++r)
        EXPECT_EQ(e.cpus[static_cast<std::size_t>(r)], with_speeds(here, speeds).core_at(r).os_index);
}

} // namespace
} // namespace weft
