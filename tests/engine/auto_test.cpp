// The policy `auto` in both engines: it changes to another candidate between runs, finds the better one, and no task is lost.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/modelled.hpp"
#include "engine/observe/tally.hpp"
#include "engine/sanitized.hpp"
#include "engine/support.hpp"
#include "engine/threads/thread_engine.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/worker.hpp"

#include <unistd.h>

namespace weft {
namespace {

using test::modelled;

// ---- in the model

/// Four cores of a third of the speed beside two fast ones: `hybrid` is among the candidates.
machine unequal_cores() {
    return parse_toml("name = 'unequal'\n"
                      "[[core_class]]\nname = 'fast'\nspeed = 1\nfrequency_mhz = 1000\n"
                      "[[core_class]]\nname = 'slow'\nspeed = 0.32\nfrequency_mhz = 1000\n"
                      "[[domain]]\ncores = [{class = 'fast', count = 2}, {class = 'slow', count = 4}]\n"
                      "[exchange]\nns = 1000\n",
                      "unequal");
}

/// Six long tasks among sixty: on these cores it matters where they run.
void batch() {
    task_group g;
    for (int i = 0; i < 60; ++i) {
        const bool is_long = i % 10 == 9;
        g.run([is_long] { cost(is_long ? 2'000'000 : 200'000); }, {.name = is_long ? "long" : "short"});
    }
    g.wait();
}

std::uint64_t fib(int n) {
    cost(300);
    if (n < 2) return static_cast<std::uint64_t>(n);
    auto [a, b] = join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

struct times {
    std::vector<time_ns> batches{}, fibs{};
    std::uint64_t hash = 0;
    policy_choices choices{};

    static time_ns last(const std::vector<time_ns>& of, std::size_t n) {
        time_ns sum = 0;
        for (std::size_t i = of.size() - n; i < of.size(); ++i) sum += of[i];
        return sum;
    }
};

/// Two places, in turn.
times two_places(const std::string& policy, std::uint64_t seed, int runs) {
    modelled m(make_policy(policy), unequal_cores(), seed, 100'000);
    times t;
    for (int i = 0; i < runs; ++i) {
        t.batches.push_back(m.run([] { batch(); }));
        t.fibs.push_back(m.run([] { fib(14); }));
    }
    m.engine.wait_until_quiescent();
    t.hash = m.engine.sim->event_hash;
    t.choices = m.engine.outermost.scheduler->choices();
    return t;
}

constexpr const char* candidates[] = {"steal", "hybrid", "steal-parent-first"};

TEST(auto_policy, gains_where_a_candidate_is_better_and_loses_little_elsewhere) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    constexpr int runs = 60, last = 10;
    const times found = two_places("auto", 1, runs), by_steal = two_places("steal", 1, runs);
    time_ns best_batch = 0, best_fib = 0;
    for (const char* const c : candidates) {
        const times of = two_places(c, 1, runs);
        const time_ns b = times::last(of.batches, last), f = times::last(of.fibs, last);
        best_batch = best_batch == 0 ? b : std::min(best_batch, b);
        best_fib = best_fib == 0 ? f : std::min(best_fib, f);
    }
    EXPECT_LT(best_batch, 0.9 * static_cast<double>(
                                    times::last(by_steal.batches, last))); // else there is nothing to choose
    EXPECT_LT(times::last(found.batches, last), 1.1 * static_cast<double>(best_batch));
    EXPECT_LT(times::last(found.fibs, last), 1.1 * static_cast<double>(best_fib));
    ASSERT_EQ(found.choices.places.size(), 2U);
    EXPECT_NE(found.choices.places[0].chosen, "steal");
}

TEST(auto_policy, does_the_same_under_the_same_seed) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    const times a = two_places("auto", 3, 12), b = two_places("auto", 3, 12);
    EXPECT_EQ(a.hash, b.hash);
    EXPECT_EQ(a.batches, b.batches);
    EXPECT_NE(two_places("auto", 4, 12).hash, a.hash);
}

TEST(auto_policy, the_report_names_what_was_chosen) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    modelled m(make_policy("auto"), test::equal_cores(4));
    for (int i = 0; i < 6; ++i) m.run([] { fib(8); });
    const engine::tally unused;
    const std::string json = m.engine.describe_run(unused, true),
                      table = m.engine.describe_run(unused, false);
    EXPECT_NE(json.find(R"("choices":{"places":[{"place":")"), std::string::npos) << json;
    for (
        const char* const part :
        {R"("policy":"steal","state":"other policies are tried","why":"static took )",
         R"( times as long (1 comparison); steal-parent-first is not compared yet","runs":6,"comparisons":1)"})
        EXPECT_NE(json.find(part), std::string::npos) << json;
    EXPECT_NE(table.find("chosen    steal for "), std::string::npos) << table;
    EXPECT_NE(table.find("\n          static took "), std::string::npos) << table;
    EXPECT_NE(table.find("memory    off: on a modelled machine"), std::string::npos) << table;
    modelled plain(make_policy("steal"), test::equal_cores(4));
    plain.run([] { fib(8); });
    EXPECT_EQ(plain.engine.describe_run(unused, true).find("choices"), std::string::npos);
}

/// Under `steal` the only task is where chance puts it. Under `hybrid` the fast core's worker takes it over at a tick, asleep.
TEST(auto_policy, hybrid_has_its_ticks) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    const machine on =
        parse_toml("name = 'unequal'\n"
                   "[[core_class]]\nname = 'fast'\nspeed = 1\nfrequency_mhz = 1000\n"
                   "[[core_class]]\nname = 'slow'\nspeed = 0.25\nfrequency_mhz = 1000\n"
                   "[[domain]]\ncores = [{class = 'slow', count = 1}, {class = 'fast', count = 1}]\n"
                   "[exchange]\nns = 100000\n",
                   "unequal");
    modelled m(make_policy("auto:of=hybrid"), on, 1, 0);
    time_ns longest = 0;
    for (int i = 0; i < 30; ++i) {
        const time_ns took = m.run([] { cost(10'000'000); });
        if (i >= 20) longest = std::max(longest, took);
    }
    EXPECT_EQ(m.engine.outermost.scheduler->choices().places.at(0).chosen, "hybrid");
    EXPECT_LT(longest, 11'000'000); // 40 ms on the slow core
}

// ---- in both

/// Another policy with ticks, which are counted, and which notes whether a task has come to it.
template <int Period>
class ticking final : public policy {
public:
    static inline std::atomic<int> ticks{0};
    static inline std::atomic<bool> is_present{false};
    requirements attach(const machine& m, policy_context& c) override {
        requirements r = of_->attach(m, c);
        r.tick = Period;
        return r;
    }
    placement ready(worker_id w, task& t, ready_reason r) override {
        is_present = true;
        return of_->ready(w, t, r);
    }
    decision next(worker_id w, bool last_look) override { return of_->next(w, last_look); }
    workers victims(worker_id w) override { return of_->victims(w); }
    spawn_order spawn(worker_id w, task& p, task& c) override { return of_->spawn(w, p, c); }
    void tick(time_ns) override { ++ticks; }
    static void begin_anew() { ticks = 0, is_present = false; }

private:
    std::unique_ptr<policy> of_ = make_policy("steal-parent-first");
};
using often = ticking<100'000>;
using seldom = ticking<400'000>;

void register_ticking() {
    static const bool once = [] {
        constexpr auto entry = []<class P>(const char* name, P*) {
            return policy_entry{
                .name = name,
                .summary = "counts its ticks",
                .source = "none",
                .knobs = {},
                .make = [](const knob_values&) -> std::unique_ptr<policy> { return std::make_unique<P>(); }};
        };
        register_policy(entry("ticks-often", static_cast<often*>(nullptr)));
        register_policy(entry("ticks-seldom", static_cast<seldom*>(nullptr)));
        return true;
    }();
    static_cast<void>(once);
}

TEST(auto_policy, ticks_come_to_the_candidate_that_is_present_as_often_as_it_asks) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    register_ticking();
    modelled m(make_policy("auto:of=ticks-often+ticks-seldom"), test::equal_cores(2));
    for (int i = 0; i < 10; ++i) {
        often::begin_anew();
        seldom::begin_anew();
        m.run([] { cost(4'000'000); });
        const bool is_often = i == 2 || i == 3, is_seldom = i == 6 || i == 7;
        EXPECT_EQ(often::is_present, is_often) << i;
        EXPECT_EQ(seldom::is_present, is_seldom) << i;
        EXPECT_NEAR(often::ticks, is_often ? 40 : 0, is_often ? 1 : 0) << i;
        EXPECT_NEAR(seldom::ticks, is_seldom ? 10 : 0, is_seldom ? 1 : 0) << i;
    }
}

/// Which candidate is tried when is a matter of times, so each run looks which one is present.
TEST(auto_policy, ticks_come_on_threads) {
    register_ticking();
    engine::thread_engine e(make_policy("auto:of=ticks-often+ticks-seldom,memory=off,share=50"),
                            test::cores{.cores_per_domain = 2}.build(), {.workers = 2, .seed = test::seed});
    bool was_often = false, was_seldom = false;
    for (int i = 0; i < 300 && !(was_often && was_seldom); ++i) {
        often::begin_anew();
        seldom::begin_anew();
        auto body = [] {
            const auto begin = std::chrono::steady_clock::now();
            const auto passed = [&] { return std::chrono::steady_clock::now() - begin; };
            if (const bool is_seldom = seldom::is_present; is_seldom || often::is_present)
                while ((is_seldom ? seldom::ticks : often::ticks) == 0 &&
                       passed() < std::chrono::seconds(20)) {}
            else
                while (passed() < std::chrono::milliseconds(2)) {}
        };
        engine::run_root(e, {[](void* c) { (*static_cast<decltype(body)*>(c))(); }, &body});
        EXPECT_EQ(often::ticks > 0, often::is_present) << i;
        EXPECT_EQ(seldom::ticks > 0, seldom::is_present) << i;
        was_often |= often::is_present;
        was_seldom |= seldom::is_present;
    }
    EXPECT_TRUE(was_often);
    EXPECT_TRUE(was_seldom);
}

/// On threads time decides what is chosen, so the test asks only that hybrid is a candidate, is tried, and has a clock.
TEST(auto_policy, hybrid_is_tried_on_unequal_cores_of_threads) {
    engine::thread_engine e(make_policy("auto:memory=off,share=50"), unequal_cores(),
                            {.workers = 6, .seed = test::seed});
    EXPECT_EQ(e.need.tick, 250'000);
    ASSERT_TRUE(e.ticks_of_policy);
    std::atomic<std::uint64_t> sum{0};
    int of_hybrid = 0; // the only candidate that molds
    for (int i = 0; i < 40; ++i) {
        auto body = [&] {
            of_hybrid += e.zone().molds;
            sum += fib(10);
        };
        engine::run_root(e, {[](void* c) { (*static_cast<decltype(body)*>(c))(); }, &body});
    }
    EXPECT_EQ(sum.load(), 40U * 55);
    EXPECT_GT(of_hybrid, 0); // how often is a matter of times
    ASSERT_EQ(e.outermost.scheduler->choices().places.size(), 1U);
}

/// A moldable task is molded in the runs of a candidate that molds, and gets a team in the others.
TEST(auto_policy, a_candidate_that_molds_does_so) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    const auto make = [] { return make_policy("auto:of=xitao:place=weight"); };
    engine::model_engine e(make(), unequal_cores(), {.workers = 6}, {}, make);
    for (int run = 0; run < 8; ++run) {
        std::atomic<int> shares{0}, firsts{0}, widths{0}, in_team{0};
        auto body = [&] {
            graph dag;
            for (int i = 0; i < 20; ++i)
                dag.add(moldable([&](int rank, int wide) {
                            cost(10'000);
                            in_team += impl::hot_self()->arena().is_team();
                            ++shares;
                            if (rank == 0) ++firsts, widths += wide;
                        }),
                        width(2));
            dag.run();
        };
        engine::run_root(e, {[](void* c) { (*static_cast<decltype(body)*>(c))(); }, &body});
        EXPECT_EQ(firsts.load(), 20);
        EXPECT_EQ(shares.load(), widths.load());
        if (run < 4) { // later ones are of the faster one
            EXPECT_EQ(in_team.load() > 0, run < 2) << run;
        }
    }
    EXPECT_GT(e.outermost.scheduler->choices().places.at(0).compared, 0U);
}

TEST(auto_policy, a_run_begins_in_the_zone_of_its_candidate) {
    engine::thread_engine e(make_policy("auto:of=share+near,memory=off,share=50"),
                            test::cores{.cores_per_domain = 2}.build(), {.workers = 2, .seed = test::seed});
    int lazy = 0, wrong = 0;
    constexpr int runs = 8; // later ones are of the faster one
    for (int i = 0; i < runs; ++i) {
        auto body = [&] {
            const task& root = *impl::hot_self()->current->running;
            lazy += e.zone().lazy;
            wrong += root.silent_ != e.zone().lazy;
        };
        engine::run_root(e, {[](void* c) { (*static_cast<decltype(body)*>(c))(); }, &body});
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(lazy, 0);
    EXPECT_LT(lazy, runs);
}

/// Calls `f` with a function that runs its argument as a root under `auto` with candidates of both zones, in the model and on threads.
template <class F>
void in_both(F&& f) {
    constexpr const char* spec = "auto:of=share+adws+near+static,share=50,memory=off";
    const auto in = [&](runtime_options o) {
        o.policy = spec;
        o.seed = test::seed;
        runtime r(o);
        f([&](auto&& body) { r.run(body); });
    };
    if (!test::thread_sanitized) in({.engine = "model", .machine = "pack:2 [numa] l3:1 core:2 pu:1"});
    in({.workers = 4, .pin = "off"});
}

TEST(auto_policy, futures_that_outlive_their_run_are_not_lost) {
    WEFT_SEEDED;
    in_both([](auto&& run) {
        for (int i = 0; i < test::rounds(30); ++i) {
            std::vector<future<int>> left;
            run([&] {
                for (int k = 0; k < 8; ++k)
                    left.push_back(async([k] {
                        cost(2000);
                        join([] { cost(500); }, [] { this_task::yield(); });
                        return k;
                    }));
            });
            int sum = 0;
            run([&] {
                parallel_for(0, 50, [](int) { cost(100); });
                for (auto& f : left) sum += f.get();
            });
            EXPECT_EQ(sum, 28);
        }
    });
}

TEST(auto_policy, children_of_a_group_from_outside_that_outlive_their_run_are_not_lost) {
    WEFT_SEEDED;
    in_both([](auto&& run) {
        for (int i = 0; i < test::rounds(30); ++i) {
            task_group children;
            std::atomic<int> sum{0};
            run([&] {
                for (int k = 0; k < 8; ++k)
                    children.run([k, &sum] {
                        cost(2000);
                        join([] { cost(500); }, [] { this_task::yield(); });
                        sum += k;
                    });
            });
            run([&] {
                parallel_for(0, 50, [](int) { cost(100); });
                children.wait();
            });
            EXPECT_EQ(sum.load(), 28);
        }
    });
}

TEST(auto_policy, graphs_that_outlive_their_run_are_not_lost) {
    WEFT_SEEDED;
    in_both([](auto&& run) {
        for (int i = 0; i < test::rounds(30); ++i) {
            graph dag;
            std::atomic<int> ran{0};
            std::vector<graph_task> before;
            for (int k = 0; k < 20; ++k) {
                std::vector<graph_task> after;
                if (k > 1) after = {before[static_cast<std::size_t>(k) - 2]};
                before.push_back(dag.add([&] { ran.fetch_add(1, std::memory_order_relaxed); }, after));
            }
            run([&] { dag.start(); });
            run([&] { parallel_for(0, 20, [](int) { cost(100); }); });
            run([&] { dag.wait(); });
            EXPECT_EQ(ran.load(), 20);
        }
    });
}

TEST(auto_policy, several_threads_hand_in_roots) {
    WEFT_SEEDED;
    engine::thread_engine e(make_policy("auto:of=share+adws+near,share=50,memory=off"),
                            test::cores{.packages = 2, .cores_per_domain = 2}.build(),
                            {.workers = 4, .seed = test::seed});
    std::atomic<std::uint64_t> sum{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < test::rounds(60); ++i) {
                auto body = [&] { sum.fetch_add(fib(8 + t), std::memory_order_relaxed); };
                engine::run_root(e, {[](void* c) { (*static_cast<decltype(body)*>(c))(); }, &body});
            }
        });
    for (auto& t : threads) t.join();
    EXPECT_EQ(sum.load(), static_cast<std::uint64_t>(test::rounds(60)) * (21 + 34 + 55));
}

TEST(auto_policy, teams_isolated_regions_and_moldable_tasks_run) {
    WEFT_SEEDED;
    in_both([](auto&& run) {
        for (int i = 0; i < test::rounds(20); ++i) {
            std::atomic<int> ran{0};
            run([&] {
                isolate(
                    [&] { parallel_for(0, 10, [&](int) { ran.fetch_add(1, std::memory_order_relaxed); }); });
                graph dag;
                for (int k = 0; k < 3; ++k) dag.add([&] { join([&] { ++ran; }, [&] { ++ran; }); }, cores(2));
                dag.run();
            });
            EXPECT_EQ(ran.load(), 16);
        }
    });
}

/// A task of a team ends in the team's instance of the policy.
TEST(auto_policy, programs_with_teams_and_with_the_gate_are_measured) {
    WEFT_SEEDED;
    const auto make = [] { return make_policy("auto:of=share+near,share=50,memory=off"); };
    engine::thread_engine e(make(), test::cores{.packages = 2, .cores_per_domain = 2}.build(),
                            {.workers = 4, .seed = test::seed}, {}, make);
    std::atomic<int> ran{0};
    int data = 0;
    const auto is_measured = [&] {
        const auto p = e.outermost.scheduler->choices().places.at(0);
        return p.compared > 0 || p.why.find("at once") != std::string::npos;
    };
    int runs = 0;
    for (; runs < 20 || (runs < 5000 && !is_measured()); ++runs) {
        auto body = [&] {
            graph dag;
            for (int k = 0; k < 3; ++k) {
                dag.add([&] { join([&] { ++ran; }, [&] { ++ran; }); }, cores(2));
                dag.add([&] { ++data; }, commutative(data));
                dag.add(moldable([&](int rank, int) { ran += rank == 0; }), width(2));
            }
            dag.run();
        };
        engine::run_root(e, {[](void* c) { (*static_cast<decltype(body)*>(c))(); }, &body});
    }
    EXPECT_EQ(ran.load(), runs * 9);
    EXPECT_EQ(data, runs * 3);
    EXPECT_TRUE(is_measured());
}

// ---- memory

class auto_memory : public testing::Test {
protected:
    void SetUp() override {
        std::filesystem::create_directories(folder);
        setenv("WEFT_AUTO_MEMORY", (folder / "memory").c_str(), 1);
    }
    void TearDown() override {
        unsetenv("WEFT_AUTO_MEMORY");
        unsetenv("WEFT_SETTINGS");
        std::filesystem::remove_all(folder);
    }
    std::size_t files() const {
        if (!std::filesystem::exists(folder / "memory")) return 0;
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder / "memory"),
                                                      std::filesystem::directory_iterator()));
    }
    /// Of the only place in the only file.
    int runs_in_file() const {
        std::ifstream in(std::filesystem::directory_iterator(folder / "memory")->path());
        std::string word, name;
        while (in >> word && word != "place") {}
        int runs = 0;
        in >> name >> runs;
        return runs;
    }
    /// What a runtime has written. Further runtimes of a process have a number in the names of their files.
    std::string report(runtime_options o, int runs = 6) const {
        const std::filesystem::path in = folder / "report";
        std::filesystem::create_directories(in);
        o.report = (in / "report.json").string();
        o.workers = 2;
        o.pin = "off";
        {
            runtime r(o);
            for (int i = 0; i < runs; ++i) r.run([] { fib(8); });
        }
        std::string all;
        for (const auto& file : std::filesystem::directory_iterator(in)) {
            std::ifstream text(file.path());
            all.append(std::istreambuf_iterator<char>(text), {});
        }
        std::filesystem::remove_all(in);
        return all;
    }

    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("weft_auto_" + std::to_string(getpid()));
};

TEST_F(auto_memory, a_runtime_of_this_machine_keeps_what_it_has_found) {
    const std::string first = report({.policy = "auto"});
    ASSERT_EQ(files(), 1U);
    EXPECT_NE(first.find("\"memory\":\"kept in "), std::string::npos) << first;
    EXPECT_NE(first.find("\"runs\":6,\"comparisons\":"), std::string::npos) << first;
    EXPECT_EQ(runs_in_file(), 6);
    const std::string second = report({.policy = "auto"}, 1);
    ASSERT_EQ(files(), 1U);
    EXPECT_NE(second.find("\"runs\":1,\"comparisons\":"), std::string::npos) << second;
    EXPECT_EQ(runs_in_file(), 7); // of both processes
    report({.policy = "auto:memory=off"});
    report({.policy = "auto", .engine = "model", .machine = "numa:1 core:2 pu:1"});
    EXPECT_EQ(files(), 1U);
}

/// Its runtime is never destroyed, and nothing is recorded.
TEST_F(auto_memory, the_end_of_a_process_keeps_what_its_default_runtime_has_found) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    setenv("WEFT_TEST_MEMORY", (folder / "memory").c_str(),
           0); // for the other process, whose folder is another one
    EXPECT_EXIT(
        {
            setenv("WEFT_AUTO_MEMORY", std::getenv("WEFT_TEST_MEMORY"), 1);
            setenv("WEFT_POLICY", "auto", 1);
            for (int i = 0; i < 5; ++i) fib(8);
            std::exit(0);
        },
        testing::ExitedWithCode(0), "");
    unsetenv("WEFT_TEST_MEMORY");
    ASSERT_EQ(files(), 1U);
    EXPECT_EQ(runs_in_file(), 5);
}

TEST_F(auto_memory, a_settings_file_comes_before_it) {
    const std::string file = (folder / "found.settings.toml").string();
    std::ofstream(file) << "version = 1\n[settings]\npolicy = 'near:tries=2'\n";
    setenv("WEFT_SETTINGS", file.c_str(), 1);
    EXPECT_NE(report({.policy = "auto"}).find("\"policy\":\"near:tries=2\""), std::string::npos);
    EXPECT_NE(report({.policy = "share"}).find("\"policy\":\"share\""), std::string::npos);
    std::ofstream(file) << "version = 1\n[settings]\nworkers = 2\n";
    EXPECT_NE(report({.policy = "auto"}).find("\"policy\":\"auto\""), std::string::npos);
    EXPECT_EQ(files(), 1U);
}

} // namespace
} // namespace weft
