// Speeds of cores over virtual time, and the files that change them.
#include "engine/model/core_speed.hpp"
#include "engine/model/scenario.hpp"
#include "machine/load.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace weft::engine {
namespace {

machine big_little() {
    return parse_toml(R"(
name = "big-little"
[[core_class]]
name = "big"
frequency_mhz = 2000
[[core_class]]
name = "little"
speed = 0.5
compute_speed = 0.25
frequency_mhz = 1500
[[domain]]
class = "big"
cores = 2
[[domain]]
class = "little"
cores = 2
[[memory_node]]
bandwidth_gbps = 10
)",
                      "test");
}

TEST(core_speed, cycles_are_those_of_the_fastest_class) {
    const machine m = big_little();
    const core_speed speed(m, {});
    const double work = speed.work_of_cycles(1000);
    EXPECT_DOUBLE_EQ(speed.duration(0, work, work_kind::general, 0), 500);
    EXPECT_DOUBLE_EQ(speed.duration(2, work, work_kind::general, 0), 1000);
    EXPECT_DOUBLE_EQ(speed.duration(2, work, work_kind::compute, 0), 2000);
    EXPECT_DOUBLE_EQ(speed.duration(2, work, work_kind::memory, 0), 1000);
}

TEST(core_speed, costs_are_cycles_of_the_core_where_they_were_measured) {
    const machine m = parse_toml("name = 'm'\n[[core_class]]\nname = 'c'\nfrequency_mhz = 1000\n"
                                 "[regular]\ncores_per_domain = 1\n[model]\nwork_per_cycle = 0.5\n",
                                 "m.toml");
    const core_speed speed(m, {});
    EXPECT_DOUBLE_EQ(speed.duration(0, speed.work_of_cycles(1000), work_kind::general, 0), 2000);
    EXPECT_DOUBLE_EQ(speed.work_of_cycles(1000, true), speed.work_of_cycles(1000)) << "unless it is said";
}

TEST(core_speed, vector_instructions_may_do_less_than_where_the_costs_were_measured) {
    const machine m = parse_toml("name = 'm'\n[[core_class]]\nname = 'c'\nfrequency_mhz = 1000\n"
                                 "[regular]\ncores_per_domain = 1\n"
                                 "[model]\nwork_per_cycle = 0.5\nvector_work_per_cycle = 0.25\n",
                                 "m.toml");
    const core_speed speed(m, {});
    EXPECT_DOUBLE_EQ(speed.duration(0, speed.work_of_cycles(1000), work_kind::general, 0), 2000);
    EXPECT_DOUBLE_EQ(speed.duration(0, speed.work_of_cycles(1000, true), work_kind::general, 0), 4000);
}

TEST(core_speed, changes_take_effect_in_the_middle_of_work) {
    const machine m = big_little();
    const scenario events = parse_scenario(R"(
[[change]]
at_ms = 1
cores = [0]
speed = 0.5
[[change]]
at_ms = 2
until_ms = 3
cores = "all"
load = 0.5
[[change]]
at_ms = 4
until_ms = 5
cores = "big"
load = 1
[[change]]
at_ms = 6
cores = "little"
frequency_mhz = 750
)",
                                           "test", m);
    const core_speed speed(m, events);
    constexpr double ms = 1e6;
    const auto duration = [&](int rank, double work, double at) {
        return speed.duration(rank, work * ms, work_kind::general, static_cast<time_ns>(at * ms)) / ms;
    };
    EXPECT_DOUBLE_EQ(duration(0, 1, 0), 1);
    EXPECT_DOUBLE_EQ(duration(0, 1.5, 0), 2);     // half as fast from 1 on
    EXPECT_DOUBLE_EQ(duration(0, 1.75, 0), 3);    // a quarter from 2 to 3
    EXPECT_DOUBLE_EQ(duration(0, 2.75, 0), 6);    // half to 4, nothing to 5, half to 6
    EXPECT_DOUBLE_EQ(duration(1, 2, 1), 2.5);     // 1 to 2, half to 3, whole to 3.5
    EXPECT_DOUBLE_EQ(duration(1, 1, 4.25), 1.75); // stands still to 5
    EXPECT_DOUBLE_EQ(duration(2, 1, 6), 4);
    EXPECT_DOUBLE_EQ(speed.share(1, 2'500'000), 0.5);
    EXPECT_DOUBLE_EQ(speed.share(1, 4'500'000), 1) << "what comes after";
}

TEST(scenario, takes_bandwidth) {
    const scenario events = parse_scenario(
        "[[change]]\nat_ms = 2\nuntil_ms = 4\nmemory_node = 0\ntaken_gbps = 6\n", "test", big_little());
    ASSERT_EQ(events.nodes.size(), 1U);
    EXPECT_EQ(events.nodes[0].from, 2'000'000);
    EXPECT_EQ(events.nodes[0].until, 4'000'000);
    EXPECT_EQ(events.nodes[0].gbps, 6);
}

TEST(scenario, the_example_of_the_page_is_valid) {
    std::ostringstream page;
    page << std::ifstream(WEFT_SOURCE_DIR "/docs/modelled-machines.md").rdbuf();
    const std::string text = page.str();
    const std::size_t begin = text.find("```toml\n") + 8;
    const scenario events =
        parse_scenario(text.substr(begin, text.find("```", begin) - begin), "page", big_little());
    EXPECT_EQ(events.cores.size(), 6U);
    EXPECT_EQ(events.nodes.size(), 1U);
}

TEST(scenario, what_makes_no_sense_is_refused_with_its_line) {
    const struct {
        std::string text, says;
    } cases[] = {
        {"[[change]]\ncores = [0]\nspeed = 1\n", "at_ms: missing key"},
        {"[[change]]\nat_ms = 1\n", "a change concerns cores or a memory node"},
        {"[[change]]\nat_ms = 1\ncores = [0]\nmemory_node = 0\n", "given: both"},
        {"[[change]]\nat_ms = 1\ncores = [4]\nspeed = 1\n", "out of range"},
        {"[[change]]\nat_ms = 1\ncores = [0.5]\nspeed = 1\n", "a rank is a whole number"},
        {"[[change]]\nat_ms = 1\ncores = \"huge\"\nspeed = 1\n", "\"big\", \"little\""},
        {"[[change]]\nat_ms = 1\ncores = [0]\n", "nothing changes"},
        {"[[change]]\nat_ms = 1\ncores = [0]\nload = 1\n", "would never run again"},
        {"[[change]]\nat_ms = 1\ncores = [0]\nload = 1.5\n", "out of range"},
        {"[[change]]\nat_ms = 2\nuntil_ms = 1\ncores = [0]\nload = 1\n", "ends before it begins"},
        {"[[change]]\nat_ms = 1\ncores = [0]\nspeed = 1\nfrequency_mhz = 1\n", "one of the two"},
        {"[[change]]\nat_ms = 1\nmemory_node = 0\nspeed = 1\n", "for cores only"},
        {"[[change]]\nat_ms = 1\nmemory_node = 1\ntaken_gbps = 1\n", "out of range"},
        {"[[change]]\nat_ms = 1\nmemory_node = 0\ntaken_gbps = 10\n", "no bandwidth would ever be left"},
        {"[[changes]]\nat_ms = 1\n", "unknown key"},
        // What several changes leave together, and what is left only nearly.
        {"[[change]]\nat_ms = 1\ncores = [0]\nspeed = 1e-320\n", "core 0 would hardly run from 1 ms on"},
        {"[[change]]\nat_ms = 1\ncores = [0]\nspeed = 1e-4\n[[change]]\nat_ms = 2\ncores = [0]\nspeed = "
         "1e-4\n",
         "core 0 would hardly run from 2 ms on; given: 1e-08 of its speed"},
        {"[[change]]\nat_ms = 1\ncores = [0]\nload = 0.9999999999\n", "core 0 would hardly run"},
        {"[[change]]\nat_ms = 1\nmemory_node = 0\ntaken_gbps = 6\n"
         "[[change]]\nat_ms = 3\nmemory_node = 0\ntaken_gbps = 6\n",
         "no bandwidth of memory node 0 would ever be left from 3 ms on; given: 12 GB/s taken"},
        {"[[change]]\nat_ms = 1\nuntil_ms = 2\nmemory_node = 0\ntaken_gbps = 9.9999999999\n",
         "memory node 0 would have hardly any bandwidth from 1 ms on"},
    };
    for (const auto& c : cases) {
        try {
            parse_scenario(c.text, "events.toml", big_little());
            ADD_FAILURE() << "accepted: " << c.text;
        } catch (const error& e) {
            const std::string what = e.what();
            EXPECT_NE(what.find(c.says), std::string::npos) << c.text << what;
            EXPECT_NE(what.find("events.toml:"), std::string::npos) << what;
        }
    }
}

} // namespace
} // namespace weft::engine
