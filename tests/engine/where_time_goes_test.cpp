// Where the time of a run went, on real threads: docs/reports.md, "Where the time went". What a program certainly does (it
// blocks for 30 ms, it computes for 20 ms of processor time) must be found; how long anything else takes decides nothing.
// ctest: labels=concurrent
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <ctime>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "engine/support.hpp"

namespace weft {
namespace {

using json = nlohmann::json;
using namespace std::chrono_literals;
using test::fib;

constexpr double rounding = 1e-6; ///< of sums of figures in seconds

struct reported : testing::Test {
    std::string path{};
    std::optional<runtime> rt{};

    runtime& begin(runtime_options o = test::setup{"steal", 2}.options(), const char* format = ".json") {
        // A name for each: a second runtime that asks for one name gets another one.
        static int reports = 0;
        std::filesystem::remove(path);
        path = testing::TempDir() + "where_" + std::to_string(getpid()) + "_" + std::to_string(++reports) +
               format;
        o.report = path;
        rt.emplace(o);
        return *rt;
    }
    json end() {
        rt.reset();
        return json::parse(std::ifstream(path));
    }
    ~reported() override { std::filesystem::remove(path); }
};

double cpu_of_thread() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Computes until the calling thread has had that much processor time.
void compute(double seconds) {
    for (const double until = cpu_of_thread() + seconds; cpu_of_thread() < until;) {}
}

double value(const json& of, const char* key) {
    return of.at(key).is_null() ? 0.0 : of.at(key).get<double>();
}
double busy_parts_of(const json& w) {
    return value(w, "on_core") + value(w, "waiting") + value(w, "blocked");
}

bool is_divided(const json& r) { return r.at("divided") == "yes" || r.at("divided") == "without waiting"; }

/// Of a run, or of all runs: each worker's parts are the whole time, and those of its busy time are that time.
void expect_sums(const json& r, double whole) {
    for (const auto& w : r.at("workers")) {
        EXPECT_NEAR(value(w, "busy") + value(w, "search") + value(w, "asleep"), whole, rounding) << w;
        if (!is_divided(r)) continue;
        EXPECT_NEAR(busy_parts_of(w), w.at("busy"), rounding) << w;
        for (const char* part : {"on_core", "waiting", "blocked", "uncertain"})
            EXPECT_GE(value(w, part), 0.0) << w;
        EXPECT_LE(w.at("uncertain"), w.at("busy"));
    }
    if (is_divided(r)) {
        EXPECT_NEAR(busy_parts_of(r.at("worker_seconds")), r.at("worker_seconds").at("busy"), 1e-5);
    }
}

void expect_sums(const json& report) {
    for (const auto& run : report.at("runs")) expect_sums(run, run.at("seconds"));
    const json& all = report.at("total");
    expect_sums(all, all.at("in_runs"));
    EXPECT_NEAR(value(all, "in_runs") + value(all, "outside") + value(all, "recording"), all.at("seconds"),
                rounding);
    double in_runs = 0;
    for (const auto& run : report.at("runs")) in_runs += run.at("seconds").get<double>();
    if (report.at("runs").size() == report.at("runs_ended").get<std::size_t>() && !all.at("last_is_open")) {
        EXPECT_NEAR(in_runs, all.at("in_runs"), 1e-5);
    }
}

TEST_F(reported, a_task_that_blocks_and_computes) {
    // On a busy machine Linux counts the rest of a sleep as waiting when it moves the sleeping thread to the queue of
    // another core (1 sleep of 300, by 1 to 5 ms). A wrong account of ours would be wrong each time.
    bool told = false;
    for (int attempt = 0; attempt < 20 && !told && !HasFailure(); ++attempt) {
        // One worker: no other one sends signals, which would end the sleep in pieces.
        begin(test::setup{"steal", 1}.options()).run([] {
            std::this_thread::sleep_for(30ms);
            compute(0.02);
        });
        const json report = end();
        expect_sums(report);
        told = true;
        for (const json& r : {report.at("runs").at(0), report.at("total")}) {
            ASSERT_TRUE(is_divided(r)) << r;
            const json& sum = r.at("worker_seconds");
            const double uncertain = value(sum, "uncertain") + 1e-3;
            EXPECT_GE(value(sum, "blocked") + value(sum, "waiting"), 0.03 - uncertain) << r;
            EXPECT_GE(value(sum, "on_core"), 0.02 - uncertain) << r;
            EXPECT_GE(value(sum, "busy"), 0.05) << r;
            told &= value(sum, "blocked") >= 0.03 - uncertain;
        }
        EXPECT_GE(report.at("total").at("worker_threads").at("cpu"), 0.02);
        EXPECT_GE(report.at("total").at("process").at("voluntary_switches"), 1);
    }
    EXPECT_TRUE(told) << "a sleep of 30 ms was never told as blocked";
}

TEST_F(reported, a_task_that_blocks_and_is_asked) {
    // The other worker's signals end the sleep in pieces; after each the thread may wait for its core.
    begin().run([] { std::this_thread::sleep_for(30ms); });
    const json report = end();
    expect_sums(report);
    for (const json& r : {report.at("runs").at(0), report.at("total")}) {
        ASSERT_TRUE(is_divided(r)) << r;
        const json& sum = r.at("worker_seconds");
        const double uncertain = value(sum, "uncertain") + 1e-3;
        EXPECT_GE(value(sum, "blocked") + value(sum, "waiting"), 0.025 - uncertain) << r;
    }
}

TEST_F(reported, workers_that_sleep_are_not_blocked) {
    // The one task waits in Weft: its worker sleeps, or the other one does.
    begin().run([] { this_task::sleep_for(50ms); });
    const json report = end();
    expect_sums(report);
    const json& sum = report.at("total").at("worker_seconds");
    EXPECT_GE(value(sum, "asleep") + value(sum, "search"), 0.05);
    EXPECT_LT(value(sum, "blocked"), 0.04);
}

TEST_F(reported, time_between_runs_is_outside_of_them) {
    runtime& r = begin();
    for (int i = 0; i < 3; ++i) {
        r.run([] { fib(10); });
        if (i < 2) {
            std::this_thread::sleep_for(20ms);
            compute(0.01);
        }
    }
    std::this_thread::sleep_for(20ms); // after the last run: not between runs
    const json report = end();
    expect_sums(report);
    const json& all = report.at("total");
    EXPECT_EQ(all.at("runs"), 3);
    EXPECT_FALSE(all.at("last_is_open"));
    EXPECT_GE(all.at("outside"), 0.06);
    EXPECT_LE(all.at("outside"), all.at("seconds"));
    // What the workers searched meanwhile is not in it; their search may have been off the cores, though.
    EXPECT_GE(value(all, "outside_cpu"), 0.0);
}

TEST_F(reported, of_one_run_has_no_time_outside) {
    begin().run([] { fib(10); });
    const json report = end();
    expect_sums(report);
    EXPECT_EQ(value(report.at("total"), "outside"), 0.0);
    EXPECT_EQ(value(report.at("total"), "recording"), 0.0);
}

TEST_F(reported, many_short_runs_are_not_all_read_but_all_of_them_together_are) {
    runtime& r = begin();
    constexpr int runs = 1500;
    for (int i = 0; i < runs; ++i) r.run([] {});
    const json report = end();
    expect_sums(report);
    EXPECT_EQ(report.at("total").at("runs"), runs);
    EXPECT_TRUE(is_divided(report.at("total")));
    EXPECT_TRUE(is_divided(report.at("runs").at(0)));
    for (const auto& run : report.at("runs"))
        EXPECT_TRUE(is_divided(run) || run.at("divided") == "no: not read");
}

TEST_F(reported, threads_that_come_and_go_as_workers) {
    runtime& r = begin(test::setup{"steal", 3}.options());
    std::vector<std::thread> callers;
    for (int c = 0; c < 4; ++c)
        callers.emplace_back([&] {
            for (int i = 0; i < 30; ++i) r.run([] { compute(0.0005); });
        });
    for (std::thread& t : callers) t.join();
    const json report = end();
    expect_sums(report);
    const json& all = report.at("total");
    ASSERT_TRUE(is_divided(all));
    // 4 x 30 x 0.5 ms: on a core, wherever the account puts the time of the search.
    EXPECT_GE(all.at("worker_threads").at("cpu"), 0.06);
    EXPECT_GE(value(all.at("worker_seconds"), "on_core"),
              0.06 - value(all.at("worker_seconds"), "uncertain") - 1e-3);
}

TEST_F(reported, what_is_not_divided_says_why) {
    runtime_options o = test::setup{"steal", 2}.options();
    o.speeds = "1,0.5";
    begin(o).run([] { fib(10); });
    json report = end();
    EXPECT_EQ(report.at("total").at("divided"), "no: speeds");
    EXPECT_EQ(report.at("runs").at(0).at("divided"), "no: speeds");
    expect_sums(report);
    EXPECT_FALSE(report.at("total").at("workers").at(0).contains("on_core"));

    runtime without(test::setup{"steal", 2}.options());
    without.run([] { fib(10); });
    EXPECT_EQ(json::parse(without.report(report_format::json)).at("divided"), "no: not read");
    EXPECT_EQ(without.report().find("not divided"), std::string::npos) << "a reader has not asked";
}

TEST_F(reported, preempted_tasks_are_not_divided) {
    if (test::sanitized) GTEST_SKIP() << "no preemption under sanitizers";
    runtime_options o = test::setup{"steal", 2}.options();
    o.preempt = "klt";
    begin(o).run([] { fib(10); });
    const json report = end();
    EXPECT_EQ(report.at("total").at("divided"), "no: preemption");
    EXPECT_EQ(report.at("runs").at(0).at("divided"), "no: preemption");
    expect_sums(report);
}

TEST_F(reported, tables_are_for_people) {
    runtime& r = begin(test::setup{"steal", 2}.options(), ".txt");
    r.run([] { std::this_thread::sleep_for(20ms); });
    std::this_thread::sleep_for(30ms);
    r.run([] { std::this_thread::sleep_for(20ms); });
    rt.reset();
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (const char* words : {"-- all runs\n", "in 2 runs", "outside of runs", "on core  waiting  blocked",
                              "asleep  outside", "blocked in the kernel"})
        EXPECT_NE(text.find(words), std::string::npos) << words << " is not in\n" << text;
}

} // namespace
} // namespace weft
