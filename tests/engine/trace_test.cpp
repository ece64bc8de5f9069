// ctest: labels=slow
#include <weft/graph.hpp>
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <csignal>
#include <filesystem>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>

#include "engine/recorded_runs.hpp"
#include "engine/support.hpp"
#include "engine/traced.hpp"

namespace weft {
namespace {

using test::trace_path;
using test::trace_player;
using test::trace_read;
using trace::kind;

/// Clocks of two cores are read at different moments of one exchange between them.
constexpr std::uint64_t slack_ns = 2'000;

runtime_options in_threads(const std::string& policy, const std::string& file) {
    runtime_options o;
    o.policy = policy;
    o.workers = 3;
    o.seed = test::seed;
    o.trace = file;
    return o;
}

runtime_options in_model(const std::string& policy, const std::string& file) {
    runtime_options o = in_threads(policy, file);
    o.engine = "model";
    o.machine = WEFT_SOURCE_DIR "/machines/opteron-8380-4x4.toml";
    o.workers = test::sanitized ? 4 : 16;
    o.costs = "declared";
    return o;
}

/// Which are modelled. A modelled run has one thread: ThreadSanitizer finds nothing there.
/// (The obvious initialiser, a conditional expression of two vectors, is empty if gcc 12 compiles it.)
const std::vector<bool> engines = [] {
    std::vector<bool> all{false};
    if (!test::thread_sanitized) all.push_back(true);
    return all;
}();

struct traced : testing::TestWithParam<test::setup> {
    const std::string& policy() const { return GetParam().policy; }
};

INSTANTIATE_TEST_SUITE_P(all, traced, testing::ValuesIn(test::setups(test::policies_of_suite, {3})),
                         test::setup_name());

void play_programs(const runtime_options& o, int programs) {
    runtime rt(o);
    for (int i = 0; i < programs; ++i) {
        const auto seed = test::seed + static_cast<std::uint64_t>(i);
        EXPECT_EQ(rt.run([&] { return test::play(seed); }), test::play(seed));
    }
}

void check(const std::string& file, std::uint64_t slack) {
    trace_read all(file);
    EXPECT_TRUE(all.is_complete);
    EXPECT_EQ(all.lost, 0U);
    // At the end virtual workers stay as they are, and so may be asleep.
    const int idle = all.header["time"] == "virtual" ? int{all.header["workers"]} : 0;
    EXPECT_LE(all.count(kind::search) - all.count(kind::found), idle);
    EXPECT_LE(all.count(kind::sleep) - all.count(kind::wake), idle);
    EXPECT_EQ(all.count(kind::wait), all.count(kind::waited));
    EXPECT_GT(all.count(kind::begin), 0);
    const trace_player played(all, slack);
    std::filesystem::remove(file);
}

TEST_P(traced, programs_of_all_kinds_leave_what_the_format_promises) {
    WEFT_SEEDED;
    const std::string file = trace_path("threads");
    play_programs(in_threads(policy(), file), test::rounds(test::sanitized ? 1 : 3));
    check(file, slack_ns);
}

TEST_P(traced, in_the_model_as_well) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    WEFT_SEEDED;
    const std::string file = trace_path("model");
    play_programs(in_model(policy(), file), test::rounds(test::sanitized ? 1 : 2));
    check(file, 0);
}

TEST_P(traced, changes_nothing_in_the_model) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    WEFT_SEEDED;
    const auto seconds = [&](const std::string& file) {
        runtime rt(in_model(policy(), file));
        rt.run([] { test::play(test::seed); });
        const run_stats s = rt.stats();
        return std::tuple(s.seconds, s.steals, s.tasks, s.exposures, rt.report());
    };
    const std::string file = trace_path("unchanged");
    EXPECT_EQ(seconds(file), seconds(""));
    std::filesystem::remove(file);
}

/// Touches data in joins, in groups and in the tasks of a graph.
void sweep(std::vector<double>& data) {
    const auto touched = [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; i += 512) { // several, that are waited for together
            touch(&data[i], std::min<std::size_t>(512, last - i) * sizeof(double), access::readwrite);
            if (i % 1024 == 0) cost(300);
        }
    };
    const std::function<void(std::size_t, std::size_t)> halves = [&](std::size_t first, std::size_t last) {
        if (last - first <= 2048) return touched(first, last);
        const std::size_t middle = (first + last) / 2;
        join([&] { halves(first, middle); }, [&] { halves(middle, last); });
        touched(first, first + 64);
    };
    bind_to_node(data.data(), data.size() * sizeof(double) / 2, 1);
    halves(0, data.size());
    for (int round = 0; round < 3; ++round) {
        task_group g(hints{.work = 8, .bytes = data.size() * sizeof(double), .name = "round"});
        for (std::size_t i = 0; i < 8; ++i)
            g.run([&, i] { touched(i * data.size() / 8, (i + 1) * data.size() / 8); }, {.work = 1});
        g.wait();
    }
    graph dag;
    for (std::size_t step = 0; step < 2; ++step)
        for (std::size_t i = 0; i < 8; ++i)
            dag.add([&, i] { touched(i * data.size() / 8, (i + 1) * data.size() / 8); },
                    readwrite(data[i * data.size() / 8]));
    dag.run();
}

TEST_P(traced, changes_nothing_in_the_model_about_data) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    WEFT_SEEDED;
    std::vector<double> data(16 * 1024);
    const auto seconds = [&](const std::string& file) {
        runtime rt(in_model(policy(), file));
        rt.run([&] { sweep(data); });
        const run_stats s = rt.stats();
        return std::tuple(s.seconds, s.steals, s.tasks, s.exposures, rt.report());
    };
    const std::string file = trace_path("unchanged");
    EXPECT_EQ(seconds(file), seconds(""));
    const trace_read all(file);
    EXPECT_EQ(all.count(kind::home), 1);
    EXPECT_EQ(all.count(kind::group), 3);
    EXPECT_EQ(all.count(kind::wait), all.count(kind::waited));
    check(file, 0);
}

TEST_P(traced, waits_that_had_nothing_to_wait_for_are_told) {
    for (const bool modelled : engines) {
        const std::string file = trace_path("settled");
        {
            runtime_options o = modelled ? in_model(policy(), file) : in_threads(policy(), file);
            o.workers = 1;
            runtime rt(o);
            rt.run([] {
                task_group g;
                for (int i = 0; i < 3; ++i) {
                    g.run([] {});
                    g.wait();
                }
                g.wait(); // without children
            });
        }
        const trace_read all(file);
        EXPECT_EQ(all.count(kind::wait), 3);
        check(file, modelled ? 0 : slack_ns);
    }
}

TEST_P(traced, graphs_say_which_task_waits_for_which) {
    for (const bool modelled : engines) {
        const std::string file = trace_path("graph");
        constexpr int n = 30;
        {
            runtime rt(modelled ? in_model(policy(), file) : in_threads(policy(), file));
            rt.run([&] {
                graph g;
                std::vector<int> data(n);
                for (int i = 1; i < n; ++i)
                    g.add([] { cost(100); }, ::weft::read(data[static_cast<std::size_t>(i - 1)]),
                          ::weft::write(data[static_cast<std::size_t>(i)]), name("link"));
                g.run();
                graph failing;
                const auto first = failing.add([] { throw std::runtime_error("first"); });
                failing.add([] {}, after(first));
                EXPECT_THROW(failing.run(), std::runtime_error);
                graph growing;
                growing.add([&] {
                    const auto t = growing.add([] {});
                    growing.add([] {}, after(t));
                });
                growing.run();
            });
        }
        trace_read all(file);
        EXPECT_EQ(all.count(kind::edge), n - 2 + 1 + 1);
        EXPECT_EQ(all.count(kind::graph), 3);
        int named = 0, threw = 0, cancelled = 0, of_graph = 0;
        for (const auto& [s, records] : all.streams)
            for (const auto& r : records) {
                named += r.what_kind == kind::spawn && r.n && all.names[r.n] == "link";
                of_graph += r.what_kind == kind::spawn && r.what == static_cast<int>(trace::origin::graph);
                threw += r.what_kind == kind::end && r.what == static_cast<int>(trace::outcome::threw);
                cancelled +=
                    r.what_kind == kind::end && r.what == static_cast<int>(trace::outcome::cancelled);
            }
        EXPECT_EQ(named, n - 1);
        EXPECT_EQ(of_graph, n - 1 + 2 + 3);
        EXPECT_EQ(threw, 1);
        EXPECT_EQ(cancelled, 1);
        const trace_player played(all, modelled ? 0 : slack_ns);
        std::filesystem::remove(file);
    }
}

TEST(trace, hints_and_declarations_are_in_it) {
    const std::string file = trace_path("hints");
    {
        runtime rt(in_threads("steal", file));
        rt.run([] {
            int datum = 0;
            join([] {}, [] {}, {.first = {}, .second = {.work = 3, .name = "second", .priority = -2}});
            task_group g;
            g.run([] {}, {.bytes = 64, .name = "child"});
            g.wait();
            touch(&datum, sizeof datum, access::write);
            cost(1234, work::memory);
            iteration(5);
        });
    }
    trace_read all(file);
    std::set<std::string> names;
    for (const auto& [n, name] : all.names) names.insert(name);
    EXPECT_EQ(names, (std::set<std::string>{"second", "child"}));
    for (auto& [s, records] : all.streams)
        for (const auto& r : records) {
            if (r.what_kind == kind::touch) {
                EXPECT_EQ(r.b, sizeof(int));
            } else if (r.what_kind == kind::cost) {
                EXPECT_EQ(r.a, 1234U);
                EXPECT_EQ(r.what, 2);
            } else if (r.what_kind == kind::iteration) {
                EXPECT_EQ(r.a, 5U);
            } else if (r.what_kind == kind::hint && r.b == 0) {
                EXPECT_EQ(std::bit_cast<double>(r.a), 3);
                EXPECT_EQ(static_cast<signed char>(r.what), -2);
            }
        }
    for (const kind k : {kind::touch, kind::cost, kind::iteration}) EXPECT_EQ(all.count(k), 1);
    EXPECT_EQ(all.count(kind::hint), 2);
    EXPECT_EQ(all.header["workers"], 3);
    EXPECT_EQ(all.header["policy"], "steal");
    EXPECT_EQ(all.header["engine"], "threads");
    std::filesystem::remove(file);
}

/// The numbers of the classes of all tasks of this origin.
std::set<std::uint32_t> classes_of(const trace_read& all, trace::origin from) {
    std::set<std::uint32_t> found;
    for (const auto& [s, records] : all.streams)
        for (const auto& r : records)
            if (r.what_kind == kind::spawn && r.what == static_cast<int>(from)) found.insert(r.n);
    return found;
}

TEST(trace, each_construct_has_a_place_of_its_own) {
    for (const bool modelled : engines) {
        const std::string file = trace_path("places");
        {
            runtime rt(modelled ? in_model("steal", file) : in_threads("steal", file));
            rt.run([] {
                for (int i = 0; i < 3; ++i) join([] {}, [] { cost(1); });
                join([] {}, [] { cost(2); });
                task_group g;
                for (int i = 0; i < 3; ++i) g.run([i] { EXPECT_GE(i, 0); });
                g.run([] {}, {.name = "named"});
                g.wait();
                graph dag;
                dag.add([] {});
                dag.add([] {}, name("named"));
                dag.run();
            });
        }
        const trace_read all(file);
        const auto forks = classes_of(all, trace::origin::fork);
        const auto children = classes_of(all, trace::origin::child);
        const auto of_graph = classes_of(all, trace::origin::graph);
        EXPECT_EQ(classes_of(all, trace::origin::root).size(), 1U);
        EXPECT_GE(forks.size(), 2U);
        EXPECT_LE(forks.size(), 3U); // with that by which the run of the graph spreads
        EXPECT_GE(children.size(), 2U);
        EXPECT_LE(children.size(), 3U); // one construct, spawned silently and queued, and the name
        EXPECT_EQ(of_graph.size(), 2U);
        EXPECT_EQ(all.names.size(), 1U);
        const std::uint32_t named = all.names.begin()->first;
        EXPECT_EQ(all.names.at(named), "named");
        EXPECT_TRUE(children.contains(named) && of_graph.contains(named));
        const std::string program = std::filesystem::read_symlink("/proc/self/exe");
        for (const auto& classes : {classes_of(all, trace::origin::root), forks, children, of_graph})
            for (const std::uint32_t n : classes) {
                ASSERT_TRUE(all.places.contains(n)) << n;
                EXPECT_EQ(all.places.at(n).at("module"), program);
                EXPECT_GT(all.places.at(n).at("offset"), 0);
            }
        std::filesystem::remove(file);
    }
}

TEST(trace, has_no_listeners_when_it_is_over) {
    const std::string file = trace_path("over");
    {
        runtime rt(in_threads("steal", file));
        EXPECT_TRUE(impl::has_listeners());
    }
    EXPECT_FALSE(impl::has_listeners());
    std::filesystem::remove(file);
}

TEST(trace, each_runtime_has_its_own_file) {
    const std::string file = trace_path("own"), second = file.substr(0, file.size() - 5) + ".2.weft";
    {
        runtime a(in_threads("steal", file)), b(in_threads("share", file));
        a.run([] {});
        b.run([] {});
    }
    EXPECT_EQ(trace_read(file).header["policy"], "steal");
    EXPECT_EQ(trace_read(second).header["policy"], "share");
    std::filesystem::remove(file);
    std::filesystem::remove(second);
}

TEST(trace, a_file_that_cannot_be_made_is_an_error) {
    try {
        const runtime rt(in_threads("steal", "/nowhere/at/all.weft"));
        ADD_FAILURE() << "accepted";
    } catch (const error& e) {
        EXPECT_NE(std::string(e.what()).find("WEFT_TRACE=/nowhere/at/all.weft"), std::string::npos)
            << e.what();
    }
}

/// Many short tasks, for long.
void keep_forking(int depth) {
    if (depth > 0) join([=] { keep_forking(depth - 1); }, [=] { keep_forking(depth - 1); });
}

// Its entry was handed out by the handler of a signal, in the middle of its code: without offers ahead of an ask.
TEST(trace, a_worker_that_was_interrupted_goes_on_noting_its_forks) {
    const std::string file = trace_path("interrupted");
    {
        runtime_options o = in_threads("steal:wide=steal", file);
        o.workers = 2;
        runtime rt(o);
        rt.run([] {
            std::atomic<bool> busy{false}, idle{false}, taken{false}, forked{false};
            join(
                [&] {
                    EXPECT_TRUE(test::await(busy));
                    join(
                        [&] {
                            idle.store(true, std::memory_order_release);
                            EXPECT_TRUE(test::await(taken));
                            keep_forking(8); // while no worker asks for anything
                            forked.store(true, std::memory_order_release);
                        },
                        [&] {
                            taken.store(true, std::memory_order_release);
                            EXPECT_TRUE(test::await(forked));
                        });
                },
                [&] {
                    busy.store(true, std::memory_order_release);
                    EXPECT_TRUE(test::await(idle));
                });
        });
    }
    EXPECT_EQ(trace_read(file).count(kind::spawn), 1 + 2 + 255); // the root, and the forks
    std::filesystem::remove(file);
}

TEST(trace, of_a_killed_process_can_be_read) {
    if (test::thread_sanitized) GTEST_SKIP() << "forks";
    const std::string file = trace_path("killed");
    const pid_t child = fork();
    if (child == 0) {
        runtime rt(in_threads("steal", file));
        rt.run([] {
            for (;;) keep_forking(10);
        });
        _exit(0);
    }
    ASSERT_TRUE(test::await([&] {
        std::error_code none;
        return std::filesystem::file_size(file, none) > 1'000'000 && !none;
    }));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const trace_read all(file);
    EXPECT_FALSE(all.is_complete);
    EXPECT_GT(all.count(kind::begin), 1000);
    std::filesystem::remove(file);
}

TEST(trace, a_file_that_may_grow_no_more_can_be_read_and_the_program_ends_well) {
    if (test::thread_sanitized) GTEST_SKIP() << "forks";
    const std::string file = trace_path("full");
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN); // then write() says EFBIG, as it says ENOSPC where a disk is full
        const rlimit most{2'000'000, 2'000'000};
        setrlimit(RLIMIT_FSIZE, &most);
        {
            runtime rt(in_threads("steal", file));
            rt.run([] {
                for (int i = 0; i < 100; ++i) keep_forking(10);
            });
        }
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    const trace_read all(file);
    EXPECT_FALSE(all.is_complete);
    EXPECT_GT(all.count(kind::begin), 1000);
    std::filesystem::remove(file);
}

} // namespace
} // namespace weft
