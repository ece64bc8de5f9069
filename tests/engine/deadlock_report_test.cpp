// What the report of a deadlock on a modelled machine says of tasks that wait at the gate.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <regex.h>
#include <sys/wait.h>

#include "engine/graphs.hpp"

namespace weft {
namespace {

using namespace test::graphs;

/// A model engine reports a deadlock when no other thread has submitted anything for two seconds. So each program has a process
/// of its own, and all begin before the first test waits for one.
class deadlock_report : public testing::Test {
protected:
    static constexpr const char* name_of_program = "DEADLOCK_REPORT_PROGRAM";

    static void SetUpTestSuite() {
        if (test::thread_sanitized || std::getenv(name_of_program)) return;
        const auto& suite = *testing::UnitTest::GetInstance()->current_test_suite();
        for (int i = 0; i < suite.total_test_count(); ++i) {
            const testing::TestInfo& t = *suite.GetTestInfo(i);
            if (!t.should_run()) continue;
            const std::string name = t.name();
            const std::string command = std::string(name_of_program) + "=" + name + " '" +
                                        std::filesystem::read_symlink("/proc/self/exe").string() +
                                        "' --gtest_filter=deadlock_report." + name + " 2>&1";
            outputs[name] = popen(command.c_str(), "r");
        }
    }
    void SetUp() override {
        if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    }

    /// In its own process, runs the program. In the first one, expects that the program's process has ended with status 1 and with
    /// a text in which there is `says`, a regular expression.
    static void expect_end(const std::function<void()>& program, const std::string& says) {
        if (std::getenv(name_of_program)) {
            program();
            std::_Exit(0);
        }
        std::FILE* const output = outputs.at(testing::UnitTest::GetInstance()->current_test_info()->name());
        ASSERT_NE(output, nullptr);
        std::string text;
        for (int c = 0; (c = std::fgetc(output)) != EOF;) text += static_cast<char>(c);
        const int status = pclose(output);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status << '\n' << text;
        regex_t pattern;
        ASSERT_EQ(regcomp(&pattern, says.c_str(), REG_EXTENDED | REG_NOSUB), 0);
        EXPECT_EQ(regexec(&pattern, text.c_str(), 0, nullptr, 0), 0) << text;
        regfree(&pattern);
    }

    inline static std::map<std::string, std::FILE*> outputs;

    /// `holds` adds a task with the given body, which never returns. When that body has begun, `waits` adds
    /// the tasks that wait for it.
    static void hang(const std::string& resources,
                     const std::function<void(graph&, const std::function<void()>& never)>& holds,
                     const std::function<void(graph&)>& waits) {
        runtime_options o = with("steal", 8, "model");
        if (!resources.empty()) o.resources = file_with(resources);
        runtime rt(o);
        rt.run([&] {
            latch begun(1), never(1);
            graph dag;
            dag.start();
            holds(dag, [&] {
                begun.count_down();
                never.wait();
            });
            begun.wait();
            waits(dag);
            dag.wait();
        });
    }
};

TEST_F(deadlock_report, names_what_there_is_not_enough_of) {
    expect_end(
        [] {
            hang(
                "[[resource]]\nname = \"file\"\namount = 3\n",
                [](graph& dag, const auto& never) { dag.add(never, needs("file", 2)); },
                [](graph& dag) { dag.add([] {}, needs("file", 2), name("second")); });
        },
        "waits since .* for a latch(.|\n)*a task 'second' waits at the gate for 2 of 'file'");
}

TEST_F(deadlock_report, names_a_task_that_waits_for_several_things) {
    expect_end(
        [] {
            hang(
                "[[resource]]\nname = \"file\"\namount = 1\n"
                "[[resource]]\nname = \"disk\"\nper = \"package\"\namount = 1\n",
                [](graph& dag, const auto& never) { dag.add(never, needs("file")); },
                [](graph& dag) { dag.add([] {}, needs("file"), needs("disk"), name("second")); });
        },
        "a task 'second' waits at the gate for several resources in one place");
}

TEST_F(deadlock_report, names_a_task_that_waits_for_workers) {
    expect_end(
        [] {
            hang(
                "", [](graph& dag, const auto& never) { dag.add(never, cores(6)); },
                [](graph& dag) { dag.add([] {}, cores(3), name("second")); });
        },
        "a task 'second' waits at the gate for 3 workers: 6 of 8 are in teams");
}

TEST_F(deadlock_report, names_a_task_that_waits_for_members_of_a_team) {
    expect_end(
        [] {
            hang(
                "",
                [](graph& dag, const auto& never) {
                    dag.add(
                        [never] {
                            graph inner;
                            latch begun(1);
                            inner.start();
                            inner.add(
                                [&] {
                                    begun.count_down();
                                    never();
                                },
                                cores(2));
                            begun.wait();
                            inner.add([] {}, cores(3), name("second"));
                            inner.wait();
                        },
                        cores(4));
                },
                [](graph&) {});
        },
        "a task 'second' waits at the gate for 3 workers: 2 of 4 are in teams");
}

const std::string two_of_a_package =
    "[[resource]]\nname = \"port\"\nper = \"package\"\nonly = [1]\namount = 1\n"
    "[[resource]]\nname = \"disk\"\nper = \"package\"\nonly = [1]\namount = 1\n";

TEST_F(deadlock_report, names_a_task_that_waits_for_a_worker_where_all_are_in_a_team) {
    expect_end(
        [] {
            hang(
                two_of_a_package,
                [](graph& dag, const auto& never) {
                    dag.add(never, cores(4, within::package), needs("port"));
                },
                [](graph& dag) { dag.add([] {}, needs("disk"), name("second")); });
        },
        "a task 'second' waits at the gate for 1 of 'disk' and a worker there");
}

TEST_F(deadlock_report, names_a_task_that_waits_for_the_workers_of_a_place) {
    expect_end(
        [] {
            hang(
                two_of_a_package,
                [](graph& dag, const auto& never) {
                    const auto holds = std::make_shared<latch>(1);
                    dag.add(
                        [holds] {
                            holds->count_down();
                            this_task::sleep_for(std::chrono::milliseconds(10));
                        },
                        needs("disk"), name("second"));
                    holds->wait();
                    dag.add(never, cores(4, within::package), needs("port"));
                },
                [](graph&) {});
        },
        "a task 'second' waits at the gate for a worker of cores 4 to 7");
}

TEST(deadlock_report_death, the_virtual_clock_ends) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto run = [](const std::function<void()>& f) { runtime(with("steal", 2, "model")).run(f); };
    const char* const says = "the virtual clock ends after 146 years";
    // 2^64 cycles at 2700 MHz or so are more than 200 years.
    EXPECT_EXIT(run([] { cost(~std::uint64_t{0}); }), testing::ExitedWithCode(1), says);
    EXPECT_EXIT(run([] {
                    for (int i = 0; i < 100; ++i) cost(~std::uint64_t{0} >> 2);
                }),
                testing::ExitedWithCode(1), says);
    EXPECT_EXIT(run([] {
                    for (int i = 0; i < 2; ++i) this_task::sleep_for(std::chrono::hours(24 * 365 * 80));
                }),
                testing::ExitedWithCode(1), says);
}

} // namespace
} // namespace weft
