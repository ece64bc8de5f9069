// ctest: tsan_cases=*threads_have*:*needs_one_worker*
#include <weft/graph.hpp>
#include <weft/weft.hpp>

#include "trace/walk/walk.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/recorded_runs.hpp"
#include "engine/sanitized.hpp"
#include "engine/support.hpp"
#include "engine/traced.hpp"

namespace weft {
namespace {

using nlohmann::json;

json read_json(const std::string& path) {
    std::ifstream file(path);
    return json::parse(file);
}

std::string path_of(const std::string& name) {
    static int so_far = 0;
    return testing::TempDir() + "weft_" + std::to_string(getpid()) + "_" + name + std::to_string(++so_far);
}

/// One core, on which a cycle takes a nanosecond and the runtime costs nothing.
const std::string& one_core() {
    static const std::string path = [] {
        std::string text = "name = 'one core'\n[[core_class]]\nname = 'core'\nfrequency_mhz = 1000\n"
                           "[regular]\ncores_per_domain = 1\n[charges]\n";
        for (const char* of : {"fork", "spawn", "start", "suspend", "wait", "look", "look_away", "lock",
                               "wake", "woken", "exposure", "signal"})
            text += of + std::string("_ns = 0\n");
        std::string file = path_of("one_core") + ".toml";
        std::ofstream(file) << text;
        return file;
    }();
    return path;
}

runtime_options in_model(const std::string& file) {
    runtime_options o;
    o.engine = "model";
    o.machine = one_core();
    o.costs = "declared";
    o.seed = test::seed;
    o.profile = file;
    return o;
}

/// The profile of `f`, given to use(runtime), in virtual time.
json profile_of(const std::function<void(runtime&)>& use) {
    const std::string file = path_of("profile");
    {
        runtime rt(in_model(file));
        use(rt);
    }
    const json found = read_json(file);
    std::filesystem::remove(file);
    EXPECT_TRUE(found["complete"].get<bool>());
    return found;
}
json profile_of_run(const std::function<void()>& body) {
    return profile_of([&](runtime& rt) { rt.run(body); });
}

using figures = std::pair<std::int64_t, std::int64_t>;
figures work_and_span(const json& p) { return {p["work_ns"], p["span_ns"]}; }

std::int64_t span_with(const json& p, std::int64_t burden) {
    for (const json& b : p["burdened"])
        if (b["burden_ns"] == burden) return b["span_ns"];
    return -1;
}

TEST(profile, the_span_of_a_join_is_that_of_the_longer_closure) {
    const json p = profile_of_run([] {
        cost(10);
        join([] { cost(30); }, [] { cost(50); });
        cost(5);
    });
    EXPECT_EQ(work_and_span(p), figures(95, 65));
    EXPECT_EQ(p["tasks"], 2);
    EXPECT_EQ(p["outside_ns"], 0);
}

TEST(profile, a_tree_of_joins) {
    const std::function<void(int)> tree = [&](int n) {
        if (n < 2) return cost(100);
        cost(7);
        join([&] { tree(n - 1); }, [&] { tree(n - 2); });
        cost(2);
    };
    const std::function<std::int64_t(int)> work = [&](int n) {
        return n < 2 ? 100 : 9 + work(n - 1) + work(n - 2);
    };
    const json p = profile_of_run([&] { tree(15); });
    EXPECT_EQ(work_and_span(p), figures(work(15), 14 * 9 + 100));
    // Second closures lie in each other, and the outermost ones contain all but the leftmost path.
    const json& forks =
        *std::ranges::max_element(p["constructs"], {}, [](const json& c) { return c["tasks"].get<int>(); });
    EXPECT_GT(forks["tasks"], 900);
    EXPECT_EQ(forks["work_ns"], work(15) - 14 * 9 - 100);
    EXPECT_EQ(forks["own_ns"], forks["work_ns"]);
    EXPECT_EQ(forks["longest_ns"], 100);
}

TEST(profile, a_loop_is_as_long_as_its_longest_piece) {
    const json p =
        profile_of_run([] { parallel_for(0, 64, [](int i) { cost(i == 40 ? 900 : 100); }, {.grain = 1}); });
    EXPECT_EQ(work_and_span(p), figures(63 * 100 + 900, 900));
    const json longest =
        *std::ranges::max_element(p["path"], {}, [](const json& s) { return s["ns"].get<int>(); });
    EXPECT_EQ(longest["longest_ns"], 900);
    EXPECT_EQ(longest["pieces"], 1);
}

TEST(profile, a_group_ends_with_its_longest_child) {
    const json p = profile_of_run([] {
        task_group g;
        for (const int ns : {10, 80, 30}) {
            cost(5);
            g.run([ns] { cost(static_cast<std::uint64_t>(ns)); });
        }
        cost(20);
        g.wait();
        cost(1);
    });
    EXPECT_EQ(work_and_span(p), figures(156, 91)); // the second child begins at 10
}

TEST(profile, a_wait_is_only_for_what_was_added_before) {
    const json p = profile_of_run([] {
        task_group g;
        g.run([] { cost(100); });
        g.wait();
        g.run([] { cost(40); });
        cost(50);
        g.wait();
    });
    EXPECT_EQ(work_and_span(p), figures(190, 150));
}

TEST(profile, the_edges_of_a_graph_make_its_longest_path) {
    const json p = profile_of_run([] {
        graph g;
        auto a = g.add([] { cost(10); });
        auto b = g.add([] { cost(20); });
        auto c = g.add([] { join([] { cost(50); }, [] { cost(40); }); });
        auto d = g.add([] { cost(5); });
        g.add([] { cost(62); });
        g.order(a, b);
        g.order(a, c);
        g.order(b, d);
        g.order(c, d);
        cost(3);
        for (int i = 0; i < 2; ++i) g.run();
    });
    EXPECT_EQ(work_and_span(p), figures(3 + 2 * 187, 3 + 2 * 65));
}

TEST(profile, what_a_task_releases_comes_after_it) {
    const json p = profile_of_run([] {
        latch ready(1);
        join(
            [&] {
                ready.wait();
                cost(30);
            },
            [&] {
                cost(70);
                ready.count_down();
            });
    });
    EXPECT_EQ(work_and_span(p), figures(100, 100));
}

TEST(profile, futures_run_beside_each_other) {
    const json p = profile_of_run([] {
        auto a = async([] { cost(100); });
        auto b = async([] { cost(60); });
        cost(20);
        a.get();
        b.get();
    });
    EXPECT_EQ(p["work_ns"], 180);
    EXPECT_EQ(p["span_ns"], 100);
}

TEST(profile, runs_come_after_each_other) {
    const json p = profile_of([](runtime& rt) {
        for (int i = 0; i < 3; ++i) rt.run([] { join([] { cost(10); }, [] { cost(20); }); });
    });
    EXPECT_EQ(work_and_span(p), figures(90, 60));
}

TEST(profile, a_fork_of_too_little_work_is_not_worth_its_burden) {
    const json p = profile_of_run([] { join([] { cost(30'000); }, [] { cost(50'000); }); });
    EXPECT_EQ(span_with(p, 1'000), 51'000);
    EXPECT_EQ(span_with(p, 8'000), 58'000);
    EXPECT_EQ(span_with(p, 64'000), 80'000); // one after the other
}

TEST(profile, exceptions_leave_no_tasks_behind) {
    const json p = profile_of_run([] {
        for (int i = 0; i < 100; ++i)
            EXPECT_THROW(join([] { join([] { throw std::runtime_error("first"); }, [] { cost(1); }); },
                              [] { cost(1); }),
                         std::runtime_error);
        cost(10);
    });
    EXPECT_EQ(work_and_span(p), figures(10, 10));
}

TEST(profile, names_and_places_are_in_the_file) {
    const json p = profile_of_run([] {
        task_group g;
        g.run([] { cost(1000); }, hints{.name = "sweep"});
        g.wait();
    });
    std::string of_sweep;
    for (const auto& [n, name] : p["names"].items())
        if (name == "sweep") of_sweep = n;
    ASSERT_TRUE(p["constructs"].contains(of_sweep));
    EXPECT_EQ(p["constructs"][of_sweep]["own_ns"], 1000);
    EXPECT_GT(p["places"][of_sweep]["offset"].get<std::uint64_t>(), 0U);
}

/// The span of the same run by its trace.
std::int64_t span_by_trace(const std::function<void()>& body) {
    const std::string file = test::trace_path("same");
    {
        runtime_options o = in_model("");
        o.workers = 1;
        o.trace = file;
        runtime rt(o);
        rt.run(body);
    }
    test::trace_read all(file);
    std::filesystem::remove(file);
    std::vector<trace::record> records;
    for (const auto& [stream, of] : all.streams) records.insert(records.end(), of.begin(), of.end());
    return trace::walk(records, 1, true).span;
}

TEST(profile, agrees_with_the_trace_of_any_program) {
    WEFT_SEEDED;
    for (std::uint64_t i = 0; i < 10 * test::programs(); ++i) {
        const auto program = [&] { test::play(test::seed + i); };
        const json p = profile_of_run(program);
        ASSERT_EQ(p["span_ns"].get<std::int64_t>(), span_by_trace(program)) << "program " << i;
        for (const json& b : p["burdened"]) {
            EXPECT_GE(b["span_ns"], p["span_ns"]);
            EXPECT_LE(b["span_ns"], p["work_ns"]);
        }
    }
}

TEST(profile, is_the_same_each_time_in_the_model) {
    const auto again = [] {
        json p = profile_of_run([] { test::play(test::seed); });
        for (const char* of : {"began", "process"}) p.erase(of);
        return p;
    };
    WEFT_SEEDED;
    EXPECT_EQ(again(), again());
}

TEST(profile, threads_have_real_times) {
    const std::string file = path_of("threads");
    runtime_options o;
    o.profile = file;
    {
        runtime rt(o);
        EXPECT_EQ(rt.workers(), 1);
        rt.run([] { parallel_for(0, 32, [](int) { test::take_ns(200'000); }, {.grain = 1}); });
    }
    const json p = read_json(file);
    std::filesystem::remove(file);
    EXPECT_TRUE(p["complete"].get<bool>());
    EXPECT_EQ(p["tasks"], 32); // the root and 31 second closures
    EXPECT_GT(p["outside_ns"], 0);
    const std::int64_t inside = p["work_ns"].get<std::int64_t>() - p["outside_ns"].get<std::int64_t>();
    const std::int64_t span = p["span_ns"].get<std::int64_t>() - p["outside_ns"].get<std::int64_t>();
    EXPECT_GE(span * 32, inside); // by the longest of 32 pieces
    EXPECT_LT(span, inside);
}

// ---- skipped forks, in real time

json profile_on_threads(const std::function<void()>& body) {
    const std::string file = path_of("threads");
    {
        runtime_options o;
        o.profile = file;
        runtime rt(o);
        rt.run(body);
    }
    const json p = read_json(file);
    std::filesystem::remove(file);
    EXPECT_TRUE(p["complete"].get<bool>()) << p.dump();
    return p;
}

/// A fork that is like many short ones before it, so that it is probably skipped.
template <class F, class G>
void fork_like_short_ones(F&& first, G&& second) {
    const auto fork = [&](bool is_short) {
        join(
            [&, is_short] {
                if (!is_short) first();
            },
            [&, is_short] {
                if (!is_short) second();
            });
    };
    for (int i = 0; i < 300; ++i) fork(true);
    for (int i = 0; i < 5; ++i) fork(false);
    for (int i = 0; i < 20; ++i) fork(true);
}

TEST(profile, tiny_forks_are_skipped_and_counted) {
    const std::function<int(int)> tree = [&](int n) -> int {
        if (n == 0) return 1;
        auto [a, b] = join([&] { return tree(n - 1); }, [&] { return tree(n - 1); });
        return a + b;
    };
    const json p = profile_on_threads([&] { EXPECT_EQ(tree(16), 1 << 16); });
    EXPECT_NEAR(p["tasks"].get<double>(), 1 << 16, (1 << 16) / 10);
    if (test::sanitized) return; // each fork takes too long
    EXPECT_GT(p["estimated"]["forks"], 10);
    EXPECT_GT(p["estimated"]["ns"], 0);
    EXPECT_LT(p["estimated"]["ns"], p["work_ns"]);
}

TEST(profile, a_skipped_fork_may_spawn) {
    int ran = 0;
    const json p = profile_on_threads([&] {
        const auto spawns = [&] {
            join(
                [&] {
                    task_group g;
                    for (int i = 0; i < 3; ++i)
                        g.run([&] { join([&] { ++ran; }, [&] { ++ran; }); }, hints{.name = "child"});
                    g.wait();
                },
                [&] { ++ran; });
        };
        fork_like_short_ones(spawns, spawns);
    });
    EXPECT_EQ(ran, 5 * 2 * 7);
    for (const auto& [n, name] : p["names"].items())
        if (name == "child") { EXPECT_EQ(p["constructs"][n]["tasks"], 5 * 2 * 3); }
    // The forks of children are seen, and those around them, but for what the first of these forks may lack.
    EXPECT_GE(p["tasks"], 1 + 325 + 5 * 2 * 7 - 3);
    EXPECT_LE(p["tasks"], 1 + 325 + 5 * 2 * 7 + 1);
}

/// What lies hidden below the task that waits is exposed.
TEST(profile, a_skipped_fork_may_wait) {
    int ran = 0;
    profile_on_threads([&] {
        const auto waits = [&] {
            latch comes(2);
            join(
                [&] {
                    join(
                        [&] {
                            comes.wait();
                            ++ran;
                        },
                        [&] { comes.count_down(); });
                },
                [&] { comes.count_down(); });
        };
        fork_like_short_ones(waits, waits);
    });
    EXPECT_EQ(ran, 10);
}

TEST(profile, a_skipped_fork_may_throw) {
    int caught = 0;
    profile_on_threads([&] {
        const auto throws = [&](bool inside) {
            return [&caught, inside] {
                try {
                    if (inside)
                        join([] { join([] {}, [] { throw 1; }); }, [] {});
                    else
                        join([] { throw 2; }, [] {});
                } catch (int) { ++caught; }
            };
        };
        fork_like_short_ones(throws(true), throws(false));
        for (int i = 0; i < 5; ++i) {
            EXPECT_THROW(fork_like_short_ones([] { throw 3; }, [] {}), int);
            EXPECT_THROW(fork_like_short_ones([] {}, [] { throw 4; }), int);
        }
    });
    EXPECT_EQ(caught, 10);
}

TEST(profile, a_skipped_fork_may_be_isolated_and_declare) {
    int ran = 0;
    profile_on_threads([&] {
        fork_like_short_ones([&] { isolate([&] { join([&] { ++ran; }, [&] { ++ran; }); }); },
                             [&] {
                                 cost(10);
                                 join([&] { cost(10); }, [&] { ++ran; });
                                 auto f = async([] { return 1; });
                                 ran += f.get();
                             });
    });
    EXPECT_EQ(ran, 20);
}

TEST(profile, a_skipped_fork_that_lasts_is_followed_from_some_point) {
    int forks = 0;
    const json p = profile_on_threads([&] {
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
        const auto fork = [&](bool lasts) {
            join([] {},
                 [&, lasts] {
                     for (; lasts && std::chrono::steady_clock::now() < until; ++forks)
                         join([] { test::take_ns(50'000); }, [] { test::take_ns(50'000); });
                 });
        };
        for (int i = 0; i < 300; ++i) fork(false);
        fork(true);
    });
    // The watching thread may have waited for a core: what was followed of the time has its share of the forks.
    const double skipped = p["estimated"]["ns"].get<double>() / p["work_ns"].get<double>();
    EXPECT_LT(skipped, 0.9);
    EXPECT_GT(p["tasks"].get<double>(), 300 + forks * (1 - skipped) * 0.9);
    EXPECT_LE(p["tasks"], 310 + forks);
}

TEST(profile, on_threads_random_programs_run_as_without_it) {
    WEFT_SEEDED;
    for (std::uint64_t i = 0; i < 10 * test::programs(); ++i)
        profile_on_threads([&] { EXPECT_EQ(test::play(test::seed + i), test::play(test::seed + i)); });
}

TEST(profile, needs_one_worker_and_no_trace) {
    runtime_options o;
    o.profile = path_of("refused");
    o.workers = 2;
    EXPECT_THROW(runtime{o}, error);
    o.workers = 1;
    o.trace = path_of("refused");
    EXPECT_THROW(runtime{o}, error);
    o.trace.clear();
    o.profile = "/nowhere/at/all";
    EXPECT_THROW(runtime{o}, error);
}

} // namespace
} // namespace weft
