// What runtimes tell of their runs, during (the file of progress) and after (reports), on real threads and in
// the model; the first part is docs/reports.md, the second docs/progress-format.md.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "engine/support.hpp"

namespace weft {
namespace {

using json = nlohmann::json;
using test::fib;

std::string path_of(const std::string& name) {
    const std::string path = testing::TempDir() + "report_" + std::to_string(getpid()) + "_" + name;
    std::filesystem::remove(path);
    return path;
}

std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

runtime_options in_threads(const std::string& policy = "steal", int workers = 2) {
    return test::setup{policy, workers}.options();
}

runtime_options in_model(int workers = 4) {
    runtime_options o;
    o.engine = "model";
    o.machine = WEFT_SOURCE_DIR "/machines/opteron-8380-4x4.toml";
    o.workers = workers;
    o.costs = "declared";
    return o;
}

void expect_parts_of(const json& run, const run_stats& stats, const std::vector<std::string>& parts) {
    const double seconds = run["seconds"];
    double all = 0;
    std::uint64_t tasks = 0, steals = 0, exposures = 0;
    for (const auto& w : run["workers"]) {
        double sum = 0;
        for (const auto& part : parts) {
            EXPECT_GE(w[part], 0.0) << part;
            sum += w[part].get<double>();
        }
        EXPECT_NEAR(sum, seconds, 1e-9);
        all += sum;
        tasks += w["tasks"].get<std::uint64_t>();
        steals += w["steals"].get<std::uint64_t>();
        exposures += w["exposures"].get<std::uint64_t>();
    }
    double total = 0;
    for (const auto& part : parts) total += run["worker_seconds"][part].get<double>();
    EXPECT_NEAR(total, all, 1e-9);
    EXPECT_EQ(run["workers"].size(), static_cast<std::size_t>(stats.workers));
    EXPECT_EQ(tasks, stats.tasks);
    EXPECT_EQ(steals, stats.steals);
    EXPECT_EQ(exposures, stats.exposures);
}

const std::vector<std::string> real_parts{"busy", "search", "asleep"};

// ---- reports

struct reports : testing::TestWithParam<test::setup> {};
INSTANTIATE_TEST_SUITE_P(all, reports, testing::ValuesIn(test::setups(test::policies_of_suite, {1, 3})),
                         test::setup_name());

TEST_P(reports, say_what_each_worker_did_in_the_last_run) {
    WEFT_SEEDED;
    runtime rt(GetParam().options());
    EXPECT_EQ(rt.report(), "");
    EXPECT_EQ(rt.report(report_format::json), "");
    for (int i = 0; i < 3; ++i) {
        rt.run([] { fib(12); });
        const auto run = json::parse(rt.report(report_format::json));
        EXPECT_EQ(run["engine"], "threads");
        EXPECT_EQ(run["policy"], GetParam().policy);
        EXPECT_EQ(run["seed"], test::seed);
        EXPECT_NEAR(run["seconds"], rt.stats().seconds, 1e-9);
        EXPECT_FALSE(run.contains("overhead")) << "only a trace can tell";
        EXPECT_FALSE(run["workers"][0].contains("overhead"));
        expect_parts_of(run, rt.stats(), real_parts);
    }
    EXPECT_NE(rt.report().find("policy " + GetParam().policy), std::string::npos);
}

TEST(report_file, has_every_run) {
    runtime_options o = in_threads();
    o.report = path_of("runs.json");
    {
        runtime rt(o);
        for (int i = 0; i < 3; ++i) rt.run([] { fib(10); });
        EXPECT_EQ(text_of(o.report), "") << "it comes at the end";
    }
    const auto all = json::parse(text_of(o.report));
    EXPECT_EQ(all["runs_ended"], 3);
    ASSERT_EQ(all["runs"].size(), 3U);
    for (const auto& run : all["runs"]) {
        EXPECT_GT(run["seconds"], 0.0);
        std::uint64_t tasks = 0;
        for (const auto& w : run["workers"]) tasks += w["tasks"].get<std::uint64_t>();
        EXPECT_GE(tasks, 1U);
    }
}

TEST(report_file, keeps_the_first_ones_and_the_last_of_many) {
    runtime_options o = in_threads("serial", 1);
    o.report = path_of("many.json");
    {
        runtime rt(o);
        for (int i = 0; i < 1002; ++i) rt.run([] {});
        rt.run([] { parallel_for(0, 1000, [](int) {}); });
    }
    const auto all = json::parse(text_of(o.report));
    EXPECT_EQ(all["runs_ended"], 1003);
    EXPECT_EQ(all["runs"].size(), 1000U);
}

TEST(report_file, takes_runs_that_overlap_for_one) {
    runtime_options o = in_threads();
    o.report = path_of("overlap.json");
    {
        runtime rt(o);
        latch both(2);
        std::thread other([&] { rt.run([&] { both.arrive_and_wait(); }); });
        rt.run([&] { both.arrive_and_wait(); });
        other.join();
        rt.run([] {});
    }
    EXPECT_EQ(json::parse(text_of(o.report))["runs_ended"], 2);
}

TEST(report_file, of_a_second_runtime_has_a_number_and_tables_are_for_people) {
    runtime_options o = in_threads();
    o.report = path_of("tables.txt");
    for (int i = 0; i < 2; ++i) {
        runtime rt(o);
        rt.run([] { fib(5); });
    }
    std::string second = o.report;
    second.insert(second.rfind('.'), ".2");
    for (const auto& path : {o.report, second}) {
        const std::string text = text_of(path);
        EXPECT_NE(text.find("-- run 1 of 1\n"), std::string::npos) << path;
        EXPECT_NE(text.find("2 workers, policy steal"), std::string::npos);
        EXPECT_EQ(text.find("overhead"), std::string::npos);
    }
}

TEST(report_file, and_that_of_progress_must_be_such_that_they_can_be_written) {
    runtime_options o = in_threads();
    o.report = "/nowhere/at/all.json";
    EXPECT_THROW(runtime{o}, error);
    o.report = "";
    o.progress = "/nowhere/at/all";
    try {
        runtime rt(o);
        ADD_FAILURE() << "accepted";
    } catch (const error& e) {
        EXPECT_NE(std::string(e.what()).find("WEFT_PROGRESS=/nowhere/at/all"), std::string::npos) << e.what();
    }
}

TEST(report_file, names_its_process) {
    runtime_options o = in_threads();
    const std::string path = path_of("of_process.txt");
    o.report = path;
    o.report.replace(o.report.find("report_"), 7, "%p_report_");
    runtime(o).run([] { fib(5); });
    std::string is = path;
    is.replace(is.find("report_"), 7, std::to_string(getpid()) + "_report_");
    EXPECT_NE(text_of(is).find("run 1 of 1"), std::string::npos);
    std::filesystem::remove(is);
}

/// Runs it in a child of this process, which has no runtime yet; returns how it ended.
int in_a_child(void (*what)()) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(50);
        what();
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

struct ending {
    const char* name;
    void (*run)();
};
std::ostream& operator<<(std::ostream& out, const ending& e) { return out << e.name; }

struct endings : testing::TestWithParam<ending> {};
INSTANTIATE_TEST_SUITE_P(all, endings,
                         testing::Values(ending{"the_default_runtime",
                                                [] {
                                                    fib(10);
                                                    std::exit(3);
                                                }},
                                         ending{"a_thread_that_runs",
                                                [] {
                                                    fib(10);
                                                    static std::atomic<bool> began{false};
                                                    std::thread([] {
                                                        join(
                                                            [] {
                                                                began = true;
                                                                for (;;) std::this_thread::yield();
                                                            },
                                                            [] {});
                                                    }).detach();
                                                    while (!began) std::this_thread::yield();
                                                    std::exit(3);
                                                }}),
                         [](const auto& i) { return i.param.name; });

TEST_P(endings, leave_reports_traces_and_progress_complete) {
    if (test::thread_sanitized) GTEST_SKIP() << "forks with threads";
    const std::string report = path_of("exit.json"), trace = path_of("exit.weft"),
                      progress = path_of("exit.progress");
    setenv("WEFT_REPORT", report.c_str(), 1);
    setenv("WEFT_TRACE", trace.c_str(), 1);
    setenv("WEFT_PROGRESS", progress.c_str(), 1);
    setenv("WEFT_WORKERS", "2", 1);
    const int status = in_a_child(GetParam().run);
    for (const char* name : {"WEFT_REPORT", "WEFT_TRACE", "WEFT_PROGRESS", "WEFT_WORKERS"}) unsetenv(name);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << status;
    const auto all = json::parse(text_of(report));
    EXPECT_GE(all["runs_ended"], 1);
    EXPECT_GT(all["runs"][0]["seconds"], 0.0);
    EXPECT_NE(text_of(trace).find("{\"lost\": 0}"), std::string::npos) << "the trace has no end";
    EXPECT_EQ(text_of(progress)[32], 2) << "not the last copy";
}

// ---- progress

struct look {
    std::uint64_t sequence = 0, state = 0, real = 0, time = 0, roots = 0;
    struct worker {
        std::uint64_t does = 0, tasks = 0, steals = 0, exposures = 0, idle = 0, asleep = 0;
    };
    std::vector<worker> workers{};
    bool is_virtual = false;

    std::uint64_t tasks() const {
        std::uint64_t n = 0;
        for (const worker& w : workers) n += w.tasks;
        return n;
    }
};

/// A reader, as docs/progress-format.md says.
class progress_reader {
public:
    explicit progress_reader(const std::string& path) {
        const int file = open(path.c_str(), O_RDONLY);
        bytes_ = std::filesystem::file_size(path);
        memory_ = static_cast<const char*>(mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file, 0));
        close(file);
    }
    ~progress_reader() { munmap(const_cast<char*>(memory_), bytes_); }
    progress_reader(const progress_reader&) = delete;
    progress_reader& operator=(const progress_reader&) = delete;

    look once() const {
        EXPECT_EQ(std::string(memory_, 8), "weftprg\n");
        EXPECT_EQ(number<std::uint32_t>(8), 1U);
        EXPECT_EQ(number<std::uint32_t>(16), static_cast<std::uint32_t>(getpid()));
        const auto workers = number<std::uint32_t>(12);
        EXPECT_EQ(bytes_, 64 + 48 * std::size_t{workers});
        for (;;) {
            look l;
            l.sequence = word(24);
            l.is_virtual = number<std::uint32_t>(20) == 1;
            l.state = word(32), l.real = word(40), l.time = word(48), l.roots = word(56);
            for (std::size_t i = 0; i < workers; ++i) {
                const std::size_t at = 64 + 48 * i;
                l.workers.push_back(
                    {word(at), word(at + 8), word(at + 16), word(at + 24), word(at + 32), word(at + 40)});
            }
            if (l.sequence % 2 == 0 && word(24) == l.sequence) return l;
            std::this_thread::yield();
        }
    }

private:
    template <class Number>
    Number number(std::size_t at) const {
        Number n;
        std::memcpy(&n, memory_ + at, sizeof n);
        return n;
    }
    std::uint64_t word(std::size_t at) const {
        // acquire: pairs with the stores of progress_file::refresh()
        return reinterpret_cast<const std::atomic<std::uint64_t>*>(memory_ + at)
            ->load(std::memory_order_acquire);
    }

    const char* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

TEST(progress, is_seen_while_a_run_goes_on) {
    runtime_options o = in_threads("steal:zone=reported", 2);
    o.progress = path_of("seen");
    std::optional<runtime> rt(o);
    const progress_reader file(o.progress);
    std::uint64_t before = 0;
    rt->run([&] {
        for (int more = 0; more < 3; ++more) {
            // Until a reader of the file alone knows what was done last.
            fib(8);
            for (;;) {
                const look l = file.once();
                if (l.tasks() > before && l.roots == 1 &&
                    (l.workers[0].does == 0 || l.workers[1].does == 0)) {
                    EXPECT_EQ(l.state, 1U);
                    EXPECT_FALSE(l.is_virtual);
                    before = l.tasks();
                    break;
                }
                std::this_thread::yield();
            }
        }
    });
    const auto stats = rt->stats();
    rt.reset();
    const look last = file.once();
    EXPECT_EQ(last.state, 2U);
    EXPECT_EQ(last.tasks(), stats.tasks);
    EXPECT_GE(last.real, last.time) << "one clock, read twice";
}

TEST(progress, never_goes_back) {
    runtime_options o = in_threads("steal:zone=reported", 3);
    o.progress = path_of("back");
    std::optional<runtime> rt(o);
    const progress_reader file(o.progress);
    std::atomic<bool> over{false};
    std::thread reader([&] {
        look before = file.once();
        for (std::uint64_t seen = 0; !over || seen < 2;) {
            const look l = file.once();
            ASSERT_GE(l.sequence, before.sequence);
            ASSERT_GE(l.time, before.time);
            ASSERT_GE(l.tasks(), before.tasks());
            for (std::size_t i = 0; l.state && i < l.workers.size(); ++i) {
                ASSERT_LE(l.workers[i].does, 2U);
                if (before.state) {
                    ASSERT_GE(l.workers[i].steals, before.workers[i].steals);
                    ASSERT_GE(l.workers[i].exposures, before.workers[i].exposures);
                }
            }
            seen += l.sequence != before.sequence;
            before = l;
        }
    });
    for (int i = 0; i < 20; ++i) rt->run([] { fib(test::sanitized ? 10 : 16); });
    over = true;
    reader.join();
    rt.reset();
    EXPECT_EQ(file.once().state, 2U);
}

TEST(progress, of_a_model_is_in_virtual_time) {
    runtime_options o = in_model();
    o.progress = path_of("model");
    std::optional<runtime> rt(o);
    const progress_reader file(o.progress);
    const auto task = [](int) {
        cost(1'000'000);
        fib(3);
    };
    rt->run([&] { parallel_for(0, 8, task, {.grain = 1}); });
    const auto stats = rt->stats();
    rt.reset();
    const look last = file.once();
    EXPECT_TRUE(last.is_virtual);
    EXPECT_EQ(last.state, 2U);
    EXPECT_EQ(last.workers.size(), 4U);
    EXPECT_EQ(last.tasks(), stats.tasks);
    EXPECT_GE(static_cast<double>(last.time) * 1e-9, stats.seconds);
}

TEST(progress, of_a_second_runtime_has_a_file_of_its_own) {
    runtime_options o = in_threads();
    o.progress = path_of("two");
    runtime one(o), other(o);
    one.run([] { fib(5); });
    EXPECT_TRUE(std::filesystem::exists(o.progress + ".2"));
    progress_reader(o.progress + ".2").once();
}

} // namespace
} // namespace weft
