// ctest: timeout=600
// Traces whose numbers are wrong, behind checksums that are right: the walk takes any
// records, and a replay refuses them, or runs. Records are changed one field at a time, so that most of a trace stays right.
#include "replay/play.hpp"
#include "replay/read_script.hpp"
#include "trace/walk/walk.hpp"
#include "trace/write/record.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/recorded_runs.hpp"
#include "engine/traced.hpp"
#include "property/fuzzing.hpp"

namespace weft {
namespace {

using test::below;
using test::generator;
using trace::kind;
using trace::record;

struct recorded {
    std::vector<record> records{};
    std::unordered_map<std::uint32_t, std::string> names{};
    int workers = 0;
    bool is_virtual = true;
};

/// A machine with all that a program can declare something about.
const std::string& machine_file() {
    static const std::string path = [] {
        const std::string file = testing::TempDir() + "weft_fuzz_" + std::to_string(getpid()) + ".toml";
        std::ofstream(file) << "name = 'fuzzed'\n[[core_class]]\nname = 'core'\nfrequency_mhz = 1000\n"
                               "[regular]\npackages = 2\ncores_per_domain = 2\n"
                               "[[memory_node]]\ncount = 2\nbandwidth_gbps = 5\nlatency_ns = 90\n"
                               "[distance]\nremote_latency_ns = 150\nremote_bandwidth_gbps = 2\n"
                               "[steal]\nsame_domain_ns = 100\nother_package_ns = 300\n"
                               "[[disk]]\nname = 'disk'\nbandwidth_gbps = 0.5\n[charges]\nexposure_ns = "
                               "500\nsignal_ns = 100\n";
        return file;
    }();
    return path;
}

/// Forks, groups with hints, futures, locks, sleeps, graphs with data, needs and teams, data, homes and disks.
void program(std::uint64_t drawn_by) {
    static std::array<char, 1 << 15> data;
    bind_to_node(data.data(), 4096, 1);
    iteration(0);
    test::play(drawn_by, 1);
    transfer("disk", 10'000);
    graph dag({.record_accesses = true});
    datum d;
    for (int i = 0; i < 6; ++i)
        dag.add(
            [i] {
                touch(data.data() + 3000 * i, 5000, i % 2 ? access::read : access::write);
                cost(300);
                join([] { cost(100); }, [] { cost(200); });
            },
            i % 2 ? read(data[0]) : write(data[0]), commutative(d), needs("file"),
            name(i % 3 ? "odd" : "third"));
    dag.add(moldable([](int, int) { cost(500); }), width(2), write(d));
    dag.start();
    task_group g(hints{.work = 3, .name = "group"});
    latch opened(1);
    g.run([&] { opened.wait(); }, hints{.work = 1, .name = "waits"});
    g.run([&] { opened.count_down(); });
    dag.add([] { cost(50); }, read(data[0]));
    dag.wait();
    g.wait();
    test::play(drawn_by + 1, 1);
}

recorded record_program(const std::string& policy, const std::string& engine, std::uint64_t drawn_by) {
    const std::string path = test::trace_path("fuzz");
    {
        const std::string resources = path + ".toml";
        std::ofstream(resources) << "[[resource]]\nname = \"file\"\namount = 2\n";
        runtime_options o{.workers = engine == "model" ? 4 : 2, .policy = policy, .engine = engine};
        o.machine = engine == "model" ? machine_file() : "";
        o.seed = drawn_by;
        o.pin = engine == "model" ? "" : "off";
        o.resources = resources;
        o.trace = path;
        o.costs = engine == "model" ? "declared" : "";
        runtime rt(o);
        for (std::uint64_t r = 0; r < 2; ++r) rt.run([&] { program(drawn_by + r); });
        std::filesystem::remove(resources);
    }
    const test::trace_read read(path);
    std::filesystem::remove(path);
    recorded out{.workers = read.header["workers"], .is_virtual = read.header["time"] == "virtual"};
    for (const auto& [stream, records] : read.streams)
        out.records.insert(out.records.end(), records.begin(), records.end());
    out.names.insert(read.names.begin(), read.names.end());
    for (const auto& [n, place] : read.places) out.names.emplace(n, ""); // as the simulator sees places
    return out;
}

const std::vector<recorded>& corpus() {
    static const std::vector<recorded> all = [] {
        std::vector<recorded> made;
        for (const char* policy : {"steal", "steal-parent-first", "adws", "near:zone=reported"})
            made.push_back(record_program(policy, "model", made.size() + 1));
        return made;
    }();
    return all;
}

// ---- damage

std::uint64_t any_number(generator& random, const std::vector<record>& all) {
    static constexpr std::uint64_t special[] = {0,
                                                1,
                                                2,
                                                3,
                                                0xff,
                                                0xffff,
                                                0x7fff'ffff,
                                                0xffff'ffff,
                                                0x1'0000'0000,
                                                std::uint64_t{1} << 40,
                                                std::uint64_t{1} << 60,
                                                std::uint64_t{1} << 62,
                                                std::uint64_t{1} << 63,
                                                ~std::uint64_t{0},
                                                0x7ff8'0000'0000'0000};
    const record& other = all[below(random, all.size())];
    switch (below(random, 7)) {
    case 0: return special[below(random, std::size(special))];
    case 1: return below(random, 40);
    case 2: return random() >> below(random, 64);
    case 3: return other.b;
    case 4: return other.n;
    case 5: return other.at;
    default: return other.a;
    }
}

void damage_field(record& r, generator& random, const recorded& of) {
    const std::uint64_t n = any_number(random, of.records);
    switch (below(random, 9)) {
    case 0:
    case 1: r.a = n; return;
    case 2:
    case 3: r.b = n; return;
    case 4: r.n = static_cast<std::uint32_t>(n); return;
    case 5: r.what = static_cast<std::uint8_t>(below(random, 3) ? below(random, 12) : n); return;
    case 6: r.what_kind = static_cast<kind>(1 + below(random, std::size(trace::kind_names) - 1)); return;
    case 7:
        r.at = below(random, 2) ? of.records[below(random, of.records.size())].at : n >> below(random, 60);
        return;
    default:
        r.stream = below(random, 8)
                       ? static_cast<std::uint16_t>(below(random, static_cast<std::uint64_t>(of.workers)))
                       : trace::outside;
        return;
    }
}

recorded draw(std::uint64_t input) {
    generator random = test::generator_of(input);
    recorded out = corpus()[below(random, corpus().size())];
    for (std::uint64_t n = 1 + below(random, 5); n > 0 && !out.records.empty(); --n) {
        const std::size_t at = below(random, out.records.size());
        const auto place = out.records.begin() + static_cast<std::ptrdiff_t>(at);
        switch (below(random, 12)) {
        case 0: out.records.erase(place); break;
        case 1: out.records.insert(place, record(*place)); break;
        case 2: std::swap(*place, out.records[below(random, out.records.size())]); break;
        case 3:
            out.records.erase(
                place, place + static_cast<std::ptrdiff_t>(
                                   below(random, std::min<std::size_t>(30, out.records.size() - at) + 1)));
            break;
        default: damage_field(*place, random, out);
        }
    }
    if (below(random, 20) == 0)
        out.names.erase(static_cast<std::uint32_t>(1 + below(random, out.names.size() + 1)));
    if (below(random, 50) == 0)
        out.names[static_cast<std::uint32_t>(any_number(random, corpus()[0].records))] = "more";
    return out;
}

std::optional<replay::script> read(const recorded& t, replay::times from) {
    try {
        return replay::read_script(t.records, t.workers, true, t.is_virtual, t.names, from);
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string(e.what()).find("; given: "), std::string::npos) << e.what();
        return std::nullopt;
    }
}

replay::times any_times(generator& random) {
    return below(random, 2) ? replay::times::declared : replay::times::measured;
}

TEST(fuzz_traces, are_walked_and_read) {
    WEFT_SEEDED;
    test::input_watch watch("fuzz_traces.are_walked_and_read");
    int scripts = 0;
    const int inputs = test::rounds(12'000);
    for (int i = 0; i < inputs; ++i) {
        const auto input = static_cast<std::uint64_t>(i);
        watch.begin(input);
        SCOPED_TRACE("input " + std::to_string(i));
        const recorded t = draw(input);
        generator random(input);
        const trace::tables all = trace::walk(t.records, t.workers, below(random, 2) == 0);
        EXPECT_LE(all.order.size(), t.records.size());
        scripts += read(t, any_times(random)).has_value();
        if (testing::Test::HasFailure()) return;
    }
    std::printf("%d traces, %d programs\n", inputs, scripts);
    EXPECT_GT(scripts, inputs / 10);
    EXPECT_LT(scripts, inputs);
}

// ---- plays, each in a process of its own: a deadlock or the end of the clock ends the process

/// Data are counted block by block, which takes memory and time.
bool is_small(const replay::script& s) {
    std::uint64_t bytes = 0;
    for (const replay::action& a : s.actions)
        if (a.what == replay::act::touch || a.what == replay::act::home)
            bytes += std::min(a.b, std::uint64_t{1} << 40);
    return bytes < std::uint64_t{1} << 28;
}

struct running {
    pid_t process;
    std::uint64_t input;
    std::string says; ///< file of its standard error
};

running start_play(std::uint64_t input, const recorded& t, const replay::script& s) {
    running r{0, input,
              testing::TempDir() + "weft_fuzz_play_" + std::to_string(getpid()) + "_" +
                  std::to_string(input)};
    std::fflush(nullptr);
    r.process = fork();
    if (r.process != 0) return r;
    const int file = open(r.says.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDERR_FILENO);
    for (const int sig : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) signal(sig, SIG_DFL);
    alarm(60);
    try {
        generator random(input);
        static constexpr const char* policies[] = {"steal", "share", "near",
                                                   "adws",  "laws",  "steal-parent-first"};
        const std::string resources = r.says + ".toml";
        std::ofstream(resources) << "[[resource]]\nname = \"file\"\namount = 2\n";
        runtime_options o{.policy = policies[below(random, std::size(policies))], .machine = machine_file()};
        o.seed = 1;
        o.resources = resources;
        replay::play(s, t.is_virtual, o);
    } catch (const std::exception& e) { std::fprintf(stderr, "refused: %s\n", e.what()); }
    _exit(0);
}

/// How the play of an input ended: "" for an end, else the first words of what ended the process.
void expect_end(const running& r, std::map<std::string, int>& ends) {
    int status = 0;
    ASSERT_EQ(waitpid(r.process, &status, 0), r.process);
    std::ostringstream text;
    text << std::ifstream(r.says).rdbuf();
    const std::string says = text.str();
    std::filesystem::remove(r.says);
    std::filesystem::remove(r.says + ".toml");
    SCOPED_TRACE("input " + std::to_string(r.input));
    if (WIFSIGNALED(status)) {
        ADD_FAILURE() << "signal " << WTERMSIG(status)
                      << (WTERMSIG(status) == SIGALRM ? ", after a minute" : "") << "\n"
                      << says;
        return;
    }
    const bool is_deadlock = says.find("weft: deadlock") != says.npos;
    const bool is_end_of_time = says.find("weft: the virtual clock ends") != says.npos;
    EXPECT_TRUE(WEXITSTATUS(status) == 0 || (WEXITSTATUS(status) == 1 && (is_deadlock || is_end_of_time)))
        << "status " << WEXITSTATUS(status) << "\n"
        << says;
    ++ends[is_deadlock                   ? "deadlock"
           : is_end_of_time              ? "end of time"
           : says.starts_with("refused") ? "refused"
                                         : "end"];
}

TEST(fuzz_traces, are_played) {
    WEFT_SEEDED;
    constexpr std::size_t at_a_time = 6; // a deadlock is waited for
    constexpr std::uint64_t first = std::uint64_t{1} << 32;
    std::map<std::string, int> ends;
    std::deque<running> all;
    static_cast<void>(corpus()); // before the first fork
    int plays = test::rounds(40);
    for (std::uint64_t input = first; plays > 0 && !testing::Test::HasFailure(); ++input) {
        const recorded t = draw(input);
        generator random(input);
        const auto s = read(t, any_times(random));
        if (!s || !is_small(*s)) continue;
        --plays;
        all.push_back(start_play(input, t, *s));
        if (all.size() < at_a_time) continue;
        expect_end(all.front(), ends);
        all.pop_front();
    }
    for (const running& r : all) expect_end(r, ends);
    for (const auto& [how, count] : ends) std::printf("%d plays: %s\n", count, how.c_str());
    EXPECT_GT(ends["end"], 0);
}

} // namespace
} // namespace weft
