// ctest: tsan_cases=*a_disk_that*:*spins*:*makes_no_sense*
//
// Programs on machines that are not there: what they cost, what is reported of it, and what cannot go well.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "engine/model/model_engine.hpp"
#include "engine/run/roots.hpp"
#include "machine/load.hpp"
#include "policy/seam/registry.hpp"

namespace weft {
namespace {

using json = nlohmann::json;

std::string file(const std::string& name, const std::string& text) {
    std::string path = testing::TempDir() + "modelled_" + std::to_string(getpid()) + "_" + name;
    std::ofstream(path) << text;
    return path;
}

std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

const std::string free_of_charge = R"(
[charges]
fork_ns = 0
spawn_ns = 0
start_ns = 0
suspend_ns = 0
wait_ns = 0
look_ns = 0
look_away_ns = 0
lock_ns = 0
wake_ns = 0
woken_ns = 0
exposure_ns = 0
signal_ns = 0
)";

/// Two packages of two cores; a cycle is a nanosecond; 10 GB/s a node, 100 ns; blocks of 1 KiB. The runtime costs what it costs where
/// a file does not say.
const std::string two_by_two_charged = R"(
name = "2x2"
[[core_class]]
name = "c"
frequency_mhz = 1000
[regular]
packages = 2
cores_per_domain = 2
[[memory_node]]
count = 2
latency_ns = 100
bandwidth_gbps = 10
[steal]
same_domain_ns = 0
other_package_ns = 0
[[cache]]
level = 1
bytes = "2 KiB"
[[cache]]
level = 3
bytes = "64 KiB"
shared_by = "domain"
latency_ns = 40
bandwidth_gbps = 32
[model]
block_bytes = 1024
)";
/// The same, with a runtime that finds work in no time: where it matters when two workers meet.
const std::string two_by_two = two_by_two_charged + free_of_charge;

runtime_options modelled(const std::string& machine_text, int workers = 1) {
    runtime_options o;
    o.engine = "model";
    o.machine = file("machine.toml", machine_text);
    o.workers = workers;
    o.spin = std::chrono::microseconds(0);
    o.seed = 1;
    return o;
}

template <class F>
std::int64_t ns(runtime& rt, F f) {
    rt.run(f);
    return std::llround(rt.stats().seconds * 1e9);
}

/// Of a worker, beyond what a program that does nothing takes there.
template <class F>
std::int64_t ns_of_program(runtime& rt, F f) {
    const std::int64_t nothing = ns(rt, [] {});
    EXPECT_GT(nothing, 28'000) << "at least, the worker has to wake up";
    return ns(rt, f) - nothing;
}

// ---- what programs cost

TEST(modelled_machine, costs_and_data_add_up) {
    runtime rt(modelled(two_by_two_charged));
    std::vector<char> a(4096);
    // 1 KiB from memory: 100 ns, and 160 ns with ten lines of 64 bytes in flight.
    EXPECT_EQ(ns_of_program(rt,
                            [&] {
                                touch(a.data(), 1024, access::read);
                                cost(50);
                            }),
              260 + 50);
    EXPECT_EQ(ns_of_program(rt, [&] { touch(a.data(), 1024, access::read); }), 0) << "first level";
    EXPECT_EQ(ns_of_program(rt, [&] { touch(a.data() + 1024, 3072, access::write); }), 100 + 3 * 160)
        << "one latency for all of it";
    EXPECT_EQ(ns_of_program(rt, [&] { touch(a.data(), 1024, access::read); }), 40 + 32) << "third level";
    const auto report = json::parse(rt.report(report_format::json));
    EXPECT_EQ(report["caches"][2]["accesses"], 16);
    EXPECT_EQ(report["caches"][2]["misses"], 0);
    // With one worker it belongs to no other.
    EXPECT_NEAR(report["worker_seconds"]["private_stall"], 72e-9, 1e-15);
}

TEST(modelled_machine, workers_that_use_a_node_together_share_its_bandwidth) {
    // One core alone: 100 ns, and 1024 bytes in 160 ns. Bound to one node and read from both sides, four ask
    // for more than its 10 GB/s.
    std::vector<char> a(400 * 1024);
    const auto halves = [&](std::size_t each) {
        return [&a, each] {
            join(
                [&] {
                    join([&] { touch(a.data(), each, access::read); },
                         [&] { touch(a.data() + each, each, access::read); });
                },
                [&] {
                    join([&] { touch(a.data() + 2 * each, each, access::read); },
                         [&] { touch(a.data() + 3 * each, each, access::read); });
                });
        };
    };
    constexpr std::size_t each = 100 * 1024;
    runtime alone(modelled(two_by_two, 1));
    alone.run([&] { bind_to_node(a.data(), a.size(), 0); });
    const auto serial = ns(alone, halves(each));
    EXPECT_EQ(serial, 4 * (100 + 100 * 160));

    runtime four(modelled(two_by_two, 4));
    four.run([&] { bind_to_node(a.data(), a.size(), 0); });
    const auto together = ns(four, halves(each));
    const double least = 400 * 1024 / 10.0; // ns that the node needs for all
    EXPECT_GE(together, least);
    EXPECT_LE(together, 1.35 * least) << "two are remote, and slower by themselves for a while";
    const auto report = json::parse(four.report(report_format::json));
    EXPECT_EQ(report["memory_nodes"][0]["local_bytes"].get<int>() +
                  report["memory_nodes"][0]["remote_bytes"].get<int>(),
              400 * 1024);
    EXPECT_EQ(report["memory_nodes"][1]["local_bytes"], 0);
    EXPECT_GT(report["memory_nodes"][0]["used_gbps"], 7);
}

TEST(modelled_machine, a_part_of_the_computing_passes_while_the_data_come) {
    // 100 lines, one at a time, 10 ns each.
    const auto with = [](double overlap) {
        return R"(
name = "near"
[[core_class]]
name = "c"
frequency_mhz = 1000
[regular]
cores_per_domain = 1
[[memory_node]]
latency_ns = 10
[model]
loads_in_flight = 1
overlap = )" + std::to_string(overlap) +
               "\n";
    };
    const auto took = [&](double overlap, std::uint64_t cycles) {
        std::vector<char> a(2 * 6400 + 64);
        auto* const first = a.data() + (64 - reinterpret_cast<std::uintptr_t>(a.data()) % 64) % 64;
        runtime rt(modelled(with(overlap), 1));
        const auto data_first = ns_of_program(rt, [&] { touch(first, 6400, access::chase), cost(cycles); });
        EXPECT_EQ(ns_of_program(rt, [&] { cost(cycles), touch(first + 6400, 6400, access::chase); }),
                  data_first);
        return data_first;
    };
    EXPECT_EQ(took(0, 400), 1400);
    EXPECT_EQ(took(0.5, 400), 1400 - 200);
    EXPECT_EQ(took(1, 400), 1000) << "the data take longer";
    EXPECT_EQ(took(1, 3000), 3000) << "the computing does";
    EXPECT_EQ(took(0.5, 3000), 4000 - 500);

    // What was computed before an earlier wait hides nothing.
    std::vector<char> a(2 * 6400 + 64);
    auto* const first = a.data() + (64 - reinterpret_cast<std::uintptr_t>(a.data()) % 64) % 64;
    runtime rt(modelled(with(1), 1));
    const auto two_stretches = [&] {
        join([&] { touch(first, 6400, access::chase), cost(5000); },
             [&] { touch(first + 6400, 6400, access::chase); });
    };
    EXPECT_NEAR(static_cast<double>(ns_of_program(rt, two_stretches)), 5000 + 1000, 50) << "and a fork";
}

TEST(modelled_machine, data_pass_a_link_after_the_latency) {
    // Two packages, 1000 ns and 1 GB/s apart; a core asks for as many lines at a time as the link can carry.
    const std::string far = R"(
name = "far"
[[core_class]]
name = "c"
frequency_mhz = 1000
[regular]
packages = 2
cores_per_domain = 2
[[memory_node]]
count = 2
[distance]
latency_ns = [[1, 1000], [1000, 1]]
bandwidth_gbps = [[100, 1], [1, 100]]
[steal]
same_domain_ns = 0
other_package_ns = 0
[model]
loads_in_flight = 1000
block_bytes = 1024
)" + free_of_charge;
    constexpr std::size_t each = 4096;
    std::vector<char> a(2 * each);
    const auto part = [&](std::size_t i) { touch(a.data() + i * each, each, access::read); };
    runtime rt(modelled(far, 2));
    rt.run([&] { bind_to_node(a.data(), a.size(), 1); });
    EXPECT_EQ(ns(rt, [&] { part(0); }), 1000 + 4096) << "one alone";
    EXPECT_EQ(ns(rt, [&] { join([&] { part(0); }, [&] { part(1); }); }), 1000 + 2 * 4096)
        << "half the link each";
    // The first has the link for itself until the bytes of the second come, at 2000. Then each gets half: the
    // first ends at 2000 + 2 * 3096, and leaves the second with 1000 bytes.
    const auto later = [&] {
        cost(1000);
        part(1);
    };
    EXPECT_EQ(ns(rt, [&] { join([&] { part(0); }, later); }), 2000 + 2 * 3096 + 1000);
}

TEST(modelled_machine, a_counter_that_all_cores_update_makes_four_slower_than_one) {
    struct alignas(64) line {
        std::uint64_t value = 0;
    };
    std::vector<line> counters(4);
    constexpr int updates = 100, other_work = 10;
    const auto all = [&](bool shared) {
        return [&counters, shared] {
            const auto count = [&counters, shared](std::size_t task) {
                for (int i = 0; i < updates; ++i) {
                    touch(&counters[shared ? 0 : task], sizeof(std::uint64_t), access::atomic);
                    cost(other_work);
                }
            };
            task_group g;
            for (std::size_t task = 0; task < 4; ++task) g.run([&count, task] { count(task); });
            g.wait();
        };
    };
    runtime one(modelled(two_by_two, 1));
    const auto alone = ns(one, all(true));
    EXPECT_EQ(alone, 100 + 4 * updates * other_work) << "from memory once, then it stays";
    runtime each(modelled(two_by_two, 4));
    EXPECT_LT(ns(each, all(false)), alone / 2) << "a counter for each";
    runtime four(modelled(two_by_two, 4));
    const auto together = ns(four, all(true));
    EXPECT_GT(together, 2 * alone) << "the line is passed on for nearly every update";
    EXPECT_LT(together, 4 * updates * (200 + other_work) + 1000) << "each time it takes 200 ns at most";
    runtime again(modelled(two_by_two, 4));
    EXPECT_EQ(ns(again, all(true)), together);
}

TEST(modelled_machine, a_fork_is_there_when_its_time_has_come_and_stays_until_it_is_returned_from) {
    // The other worker is busy until 1000. Data are waited for at the end of a stretch of user code: 100 KiB
    // take 16,100 ns.
    std::vector<char> a(100 * 1024);
    const auto data = [&] { touch(a.data(), a.size(), access::read); };
    const auto busy = [] { cost(1000); };
    {
        // Its first closure waits for data: the second one can be had meanwhile.
        runtime rt(modelled(two_by_two, 2));
        EXPECT_EQ(ns(rt, [&] { join([&] { join(data, [] { cost(5000); }); }, busy); }), 16'100);
    }
    {
        // What comes before the fork has to come first.
        runtime rt(modelled(two_by_two, 2));
        const auto fork_behind_data = [&] {
            data();
            join([] { cost(10); }, [] { cost(20'000); });
        };
        EXPECT_EQ(ns(rt, [&] { join(fork_behind_data, busy); }), 16'100 + 20'000);
    }
}

TEST(modelled_machine, a_new_stack_costs_what_the_machine_says_and_one_that_was_used_costs_nothing) {
    std::string text = two_by_two;
    constexpr std::string_view free = "suspend_ns = 0\n";
    text.replace(text.find(free), free.size(), "suspend_ns = 0\nstack_ns = 1000\n");
    runtime rt(modelled(text));
    const auto tasks_that_wait_at_once = [](int tasks) {
        return [tasks] {
            latch all(tasks);
            task_group g;
            for (int i = 0; i < tasks; ++i) g.run([&] { all.arrive_and_wait(); });
            g.wait();
        };
    };
    const std::int64_t of_two = ns(rt, tasks_that_wait_at_once(2));
    EXPECT_EQ(ns(rt, tasks_that_wait_at_once(10)), 8'000) << "eight more are in use than before";
    EXPECT_EQ(ns(rt, tasks_that_wait_at_once(10)), 0);
    EXPECT_EQ(ns(rt, tasks_that_wait_at_once(12)), 2'000);
    EXPECT_LE(of_two, 3'000);
}

TEST(modelled_machine, new_stacks_are_mapped_for_one_worker_at_a_time) {
    std::string text = two_by_two;
    constexpr std::string_view free = "suspend_ns = 0\n";
    text.replace(text.find(free), free.size(), "suspend_ns = 0\nstack_ns = 1000\n");
    const auto ten_wait_at_once = [] {
        latch all(10);
        task_group g;
        for (int i = 0; i < 10; ++i) g.run([&] { all.arrive_and_wait(); });
        g.wait();
    };
    runtime one(modelled(text, 1)), four(modelled(text, 4));
    const std::int64_t alone = ns(one, ten_wait_at_once);
    EXPECT_GE(alone, 9'000);
    EXPECT_GE(ns(four, ten_wait_at_once), alone - 3'000) << "the other three had a stack each before";
}

TEST(modelled_machine, a_pool_under_a_lock_is_changed_by_one_core_at_a_time) {
    constexpr int tasks = 1000, lock_ns = 10, line_ns = 100;
    const auto with = [](std::string_view from, std::string_view to) {
        return [from, to](std::string text) {
            text.replace(text.find(from), from.size(), to);
            return text;
        };
    };
    const std::string locks = with("lock_ns = 0", "lock_ns = 10")(two_by_two);
    const std::string lines = with("same_domain_ns = 0", "same_domain_ns = 200")(locks);
    const auto time_of = [](const std::string& text, int workers) {
        runtime_options options = modelled(text, workers);
        options.policy = "share";
        runtime rt(options);
        return ns(rt, [] {
            task_group g;
            for (int i = 0; i < tasks; ++i) g.run([] {});
            g.wait();
        });
    };
    // Each task is put into the pool and taken out.
    const std::int64_t alone = time_of(locks, 1);
    EXPECT_GE(alone, 2 * tasks * lock_ns);
    EXPECT_LE(alone, (2 * tasks + 4) * lock_ns) << "the root, besides";
    EXPECT_EQ(time_of(lines, 1), alone) << "all lines are those of the one core";
    EXPECT_GE(time_of(locks, 2), 2 * tasks * lock_ns) << "it is no faster with two";
    EXPECT_GE(time_of(lines, 2), 2 * tasks * lock_ns + tasks * line_ns)
        << "to whom the lines go again and again";
}

TEST(modelled_machine, first_touch_decides_where_data_lie) {
    runtime rt(modelled(two_by_two, 4));
    std::vector<char> a(512 * 1024);
    rt.run([&] { touch(a.data(), a.size(), access::write); }); // by one worker
    auto report = json::parse(rt.report(report_format::json));
    EXPECT_EQ(report["memory_nodes"][0]["remote_bytes"].get<int>() +
                  report["memory_nodes"][1]["remote_bytes"].get<int>(),
              0);

    std::vector<char> b(512 * 1024);
    rt.run([&] {
        interleave(b.data(), b.size());
        touch(b.data(), b.size(), access::read);
    });
    report = json::parse(rt.report(report_format::json));
    // By the same worker: what `a` left in the cache goes home, and half of `b` comes from the other node.
    EXPECT_EQ(report["memory_nodes"][0]["remote_bytes"].get<int>() +
                  report["memory_nodes"][1]["remote_bytes"].get<int>(),
              256 * 1024);
}

TEST(modelled_machine, what_caches_forward_is_told_of_each_run_by_itself) {
    runtime rt(modelled(two_by_two, 4));
    std::vector<char> a(4 * 1024);
    const auto writes = [&] {
        cost(1000);
        touch(a.data(), a.size(), access::write);
    };
    for (int k = 0; k < 10; ++k) {
        rt.run([&] { join([&] { join(writes, writes); }, [&] { join(writes, writes); }); });
        const auto report = json::parse(rt.report(report_format::json));
        std::size_t from_nodes = 0, to_workers = 0;
        for (const auto& n : report["memory_nodes"]) from_nodes += n["forwarded_bytes"].get<std::size_t>();
        for (const auto& w : report["workers"]) to_workers += w["forwarded_bytes"].get<std::size_t>();
        EXPECT_GE(from_nodes, a.size()) << "all four wrote, on two sockets";
        EXPECT_LE(from_nodes, 4 * a.size());
        EXPECT_EQ(to_workers, from_nodes);
    }
}

TEST(modelled_machine, times_of_all_workers_add_up_to_the_makespan) {
    runtime_options o = modelled(two_by_two, 4);
    o.machine = file("charged.toml", two_by_two_charged);
    o.spin.reset();
    runtime rt(o);
    rt.run([] { parallel_for(0, 1000, [](int) { cost(700); }); });
    const auto report = json::parse(rt.report(report_format::json));
    for (const auto& w : report["workers"]) {
        double sum = 0;
        for (const char* what : {"compute", "private_stall", "shared_stall", "overhead", "search", "asleep"})
            sum += w[what].get<double>();
        EXPECT_NEAR(sum, report["seconds"].get<double>(), 1e-12);
    }
    EXPECT_NEAR(report["worker_seconds"]["compute"], 700e-6, 1e-12);
    EXPECT_GT(report["worker_seconds"]["overhead"], 0);
    EXPECT_NEAR(rt.stats().work_seconds.value(), 700e-6, 1e-12);
}

TEST(modelled_machine, a_scenario_changes_it) {
    runtime_options o = modelled(two_by_two, 1);
    o.scenario =
        file("events.toml", "[[change]]\nat_ms = 0.001\nuntil_ms = 0.002\ncores = \"all\"\nspeed = 0.5\n"
                            "[[change]]\nat_ms = 0.01\nmemory_node = 0\ntaken_gbps = 9\n");
    runtime rt(o);
    EXPECT_EQ(ns(rt, [] { cost(3000); }), 3500);
    std::vector<char> a(10 * 1024);
    EXPECT_EQ(ns(rt,
                 [&] {
                     cost(10'000);
                     touch(a.data(), a.size(), access::read);
                 }),
              10'000 + 100 + 10 * 1024)
        << "1 GB/s is left";
}

TEST(modelled_machine, what_is_not_declared_is_measured) {
    runtime_options o = modelled(two_by_two, 2);
    o.costs = "measured";
    runtime rt(o);
    const auto busy = [](std::chrono::milliseconds d) {
        const auto until = std::chrono::steady_clock::now() + d;
        while (std::chrono::steady_clock::now() < until) {}
    };
    const auto took = ns(rt, [&] {
        join([&] { busy(std::chrono::milliseconds(20)); }, [&] { busy(std::chrono::milliseconds(20)); });
    });
    EXPECT_GT(took, 0);
    EXPECT_EQ(json::parse(rt.report(report_format::json))["costs"], "measured");

    o.costs = "declared";
    runtime silent(o);
    EXPECT_EQ(ns(silent, [&] { busy(std::chrono::milliseconds(1)); }), 0);
}

TEST(modelled_machine, the_default_is_declared_since_this_program_calls_cost) {
    runtime rt(modelled(two_by_two));
    rt.run([] {});
    EXPECT_EQ(json::parse(rt.report(report_format::json))["costs"], "declared");
}

// ---- same seed, same bits

TEST(modelled_machine, the_same_run_is_the_same_report_wherever_the_data_lie) {
    const auto once = [](std::size_t somewhere_else) {
        runtime_options o = modelled(two_by_two, 4);
        o.machine = file("charged.toml", two_by_two_charged);
        runtime rt(o);
        const std::vector<char> before(somewhere_else);
        std::vector<char> a(200'000);
        rt.run([&] {
            for (int k = 0; k < 3; ++k)
                parallel_for(0, 100, [&](int i) {
                    touch(a.data() + 2000 * i, 2000, k == 1 ? access::write : access::read);
                    cost(300);
                });
        });
        return rt.report(report_format::json);
    };
    const auto first = once(0);
    EXPECT_EQ(once(0), first);
    EXPECT_EQ(once(123'456), first);
}

// ---- files

TEST(modelled_machine, reports_are_written) {
    runtime_options o = modelled(two_by_two, 2);
    o.report = file("report.json", "");
    const std::string table = file("report.txt", "");
    {
        runtime rt(o);
        for (int i = 0; i < 2; ++i) rt.run([] { join([] { cost(1000); }, [] { cost(1000); }); });
        EXPECT_NE(rt.report().find("makespan"), std::string::npos);
        o.report = table;
        runtime other(o);
        other.run([] { cost(1); });
    }
    const auto report =
        json::parse(text_of(testing::TempDir() + "modelled_" + std::to_string(getpid()) + "_report.json"));
    EXPECT_EQ(report["runs_ended"], 2);
    ASSERT_EQ(report["runs"].size(), 2U);
    EXPECT_NEAR(report["runs"][1]["seconds"], 1e-6, 1e-12);
    EXPECT_NE(text_of(table).find("run 1 of 1"), std::string::npos);
}

// ---- what cannot go well

void expect_error(const runtime_options& o, const std::vector<std::string>& parts) {
    try {
        runtime rt(o);
        ADD_FAILURE() << "accepted";
    } catch (const error& e) {
        for (const auto& part : parts)
            EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
}

TEST(modelled_machine, what_makes_no_sense_is_an_error) {
    expect_error(modelled(two_by_two, 5), {"more virtual workers", "5", "1 to 4", "2x2"});
    auto o = modelled(two_by_two);
    o.machine = "opteron-8380-4x5";
    expect_error(o, {"unknown machine, did you mean 'opteron-8380-4x4'?"});
    o = modelled(two_by_two);
    o.costs = "guessed";
    expect_error(o, {"guessed", "declared, measured"});
    o = modelled(two_by_two);
    o.report = "/nowhere/at/all.json";
    expect_error(o, {"/nowhere/at/all.json"});
    o = modelled(two_by_two);
    o.trace = "/nowhere/at/all.trace";
    expect_error(o, {"/nowhere/at/all.trace"});
    o = modelled(two_by_two);
    o.scenario = "/nowhere/at/all.toml";
    expect_error(o, {"/nowhere/at/all.toml"});
    o = modelled(two_by_two);
    o.engine = "threads";
    o.costs = "declared";
    expect_error(o, {"runtime_options::costs = declared", "WEFT_ENGINE=model"});
}

TEST(modelled_machine, data_of_a_negative_size_and_a_node_that_there_is_not) {
    runtime rt(modelled(two_by_two));
    char c = 0;
    const auto message = [&](auto f) {
        try {
            rt.run(f);
        } catch (const error& e) { return std::string(e.what()); }
        return std::string("nothing was thrown");
    };
    EXPECT_NE(message([&] { touch(&c, static_cast<std::size_t>(-8), access::read); }).find("-8 bytes"),
              std::string::npos);
    EXPECT_NE(message([&] { bind_to_node(&c, 1, 2); }).find("0 to 1"), std::string::npos);
    touch(&c, static_cast<std::size_t>(-8), access::read); // in a thread that is no worker it is nothing
}

// ---- disks

/// 0.5 GB/s, which is a byte in 2 ns, after 1000 ns.
const std::string a_disk = R"(
[[disk]]
name = "disk"
bandwidth_gbps = 0.5
latency_ns = 1000
)";
const std::string with_a_disk = two_by_two + a_disk;

TEST(modelled_machine, a_transfer_takes_the_latency_and_its_bytes) {
    runtime rt(modelled(two_by_two_charged + a_disk));
    EXPECT_EQ(ns_of_program(rt, [] { transfer("disk", 4000); }), 1000 + 8000);
    EXPECT_EQ(ns_of_program(rt, [] { transfer("disk", 0); }), 1000);
    EXPECT_EQ(ns_of_program(rt,
                            [] {
                                cost(70);
                                transfer("disk", 100);
                                transfer("disk", 200);
                                cost(7);
                            }),
              70 + 1200 + 1400 + 7);
    const auto report = json::parse(rt.report(report_format::json));
    EXPECT_EQ(report["disks"].size(), 1U);
    EXPECT_EQ(report["disks"][0]["name"], "disk");
    EXPECT_EQ(report["disks"][0]["bytes"], 300) << "of the last run";
    EXPECT_NEAR(report["worker_seconds"]["shared_stall"], 2600e-9, 1e-15) << "the worker waits";
    EXPECT_NE(rt.report(report_format::table).find("disk disk"), std::string::npos);
}

TEST(modelled_machine, transfers_at_the_same_time_share_the_disk) {
    runtime rt(modelled(with_a_disk, 2));
    const auto both = [&](std::size_t a, std::size_t b) {
        return ns(rt, [&] { join([&] { transfer("disk", a); }, [&] { transfer("disk", b); }); });
    };
    EXPECT_EQ(both(4000, 4000), 1000 + 16000) << "each at half the speed; the latencies pass together";
    EXPECT_EQ(both(1000, 4000), 1000 + 10000) << "the smaller one ends at 5000";
}

TEST(modelled_machine, a_limit_of_one_transfer_lets_other_work_go_on) {
    auto options = modelled(with_a_disk, 2);
    const auto two_files = [&](const std::string& at_a_time) {
        options.resources = file("files.toml", "[[resource]]\nname = 'file'\namount = " + at_a_time + "\n");
        runtime rt(options);
        return ns(rt, [] {
            graph dag;
            for (int i = 0; i < 2; ++i) {
                const auto read = dag.add([] { transfer("disk", 4000); }, needs("file"));
                dag.add([] { cost(9000); }, after(read));
            }
            dag.run();
        });
    };
    // Both have been read after 1000 + 16000; or the one after 9000, and the other while it is computed with.
    EXPECT_EQ(two_files("2"), 17000 + 9000);
    EXPECT_EQ(two_files("1"), 9000 + 9000 + 9000);
}

TEST(modelled_machine, a_disk_that_there_is_not) {
    const auto message = [](const std::string& machine_text, auto f) {
        runtime rt(modelled(machine_text));
        try {
            rt.run(f);
        } catch (const error& e) { return std::string(e.what()); }
        return std::string("nothing was thrown");
    };
    const auto without = message(two_by_two, [] { transfer("disk", 1); });
    EXPECT_NE(without.find("'2x2'"), std::string::npos) << without;
    EXPECT_NE(without.find("a machine whose file has a [[disk]]"), std::string::npos) << without;
    const auto other = message(with_a_disk, [] { transfer("tape", 1); });
    EXPECT_NE(other.find("'tape'"), std::string::npos) << other;
    EXPECT_NE(other.find("allowed: disk"), std::string::npos) << other;
    const auto negative = message(with_a_disk, [] { transfer("disk", static_cast<std::size_t>(-8)); });
    EXPECT_NE(negative.find("-8 bytes"), std::string::npos) << negative;
    transfer("tape", 1); // in a thread that is no worker it is nothing
    runtime_options real;
    real.engine = "threads";
    real.workers = 1;
    real.trace = file("disk.weft", "");
    runtime threads(real);
    EXPECT_NO_THROW(threads.run([] { transfer("tape", 1); })) << "real, and traced";
}

using modelled_machine_death = testing::Test;

TEST(modelled_machine_death, a_deadlock_ends_with_a_list_of_waits) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            runtime_options o = modelled(two_by_two, 2);
            o.policy = "steal:zone=reported";
            runtime rt(o);
            rt.run([] {
                mutex a, b;
                latch both(2);
                const auto cross = [&](mutex& first, mutex& second) {
                    first.lock();
                    both.arrive_and_wait();
                    second.lock();
                };
                task_group g;
                g.run([&] { cross(a, b); }, {.name = "left"});
                g.run([&] { cross(b, a); }, {.name = "right"});
                g.wait();
            });
        },
        testing::ExitedWithCode(1), "deadlock at (.|\n)*'left' of level 1 below root 0 waits .* for a mutex");
}

/// Standard error goes to a file that can be read meanwhile, while this lives.
class stderr_in_file {
public:
    stderr_in_file() {
        const int to = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        EXPECT_GE(to, 0);
        EXPECT_EQ(dup2(to, STDERR_FILENO), STDERR_FILENO);
        close(to);
    }
    ~stderr_in_file() {
        dup2(before_, STDERR_FILENO);
        close(before_);
        unlink(path_.c_str());
    }
    stderr_in_file(const stderr_in_file&) = delete;
    std::string text() const { return text_of(path_); }

private:
    std::string path_ = testing::TempDir() + "modelled_" + std::to_string(getpid()) + "_stderr";
    int before_ = dup(STDERR_FILENO);
};

TEST(modelled_machine, a_task_that_spins_is_spoken_of) {
    // The task waits for the test, the test for the notice on standard error.
    engine::model_engine_options o;
    o.stuck_seconds = 0.2;
    engine::model_engine model(make_policy("steal"), parse_toml(two_by_two, "test"), o);
    std::atomic<bool> noticed{false};
    const stderr_in_file notices;
    std::thread spinning([&] {
        engine::run_root(model, {[](void* until) {
                                     while (!static_cast<std::atomic<bool>*>(until)->load()) {}
                                 },
                                 &noticed});
    });
    const auto seen = [&] { return notices.text().find("stands still") != std::string::npos; };
    for (int i = 0; i < 1000 && !seen(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(seen()) << notices.text();
    noticed = true;
    spinning.join();
}

} // namespace
} // namespace weft
