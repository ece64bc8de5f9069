// ctest: timeout=600
// Machine, scenario and resources files with random mistakes: each is read, or refused with an error that says what is
// allowed. What was read can be written, described, and modelled.
#include "engine/model/scenario.hpp"
#include "gate/load_resources.hpp"
#include "machine/describe.hpp"
#include "machine/figures.hpp"
#include "machine/load.hpp"
#include "machine/write_toml.hpp"

#include <weft/error.hpp>
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "engine/modelled.hpp"
#include "property/fuzzing.hpp"

namespace weft {
namespace {

std::string text_of(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

/// The blocks of a page that are TOML.
std::vector<std::string> examples_of(const std::string& page) {
    std::vector<std::string> all;
    const std::string begin = "```toml\n", end = "```";
    for (std::size_t at = 0; (at = page.find(begin, at)) != page.npos;) {
        at += begin.size();
        const std::size_t until = page.find(end, at);
        all.push_back(page.substr(at, until - at));
        at = until;
    }
    return all;
}

const std::filesystem::path source = WEFT_SOURCE_DIR;

std::vector<std::string> machine_texts() {
    std::vector<std::string> all = examples_of(text_of(source / "machines/README.md"));
    for (const auto& f : std::filesystem::directory_iterator(source / "machines"))
        if (f.path().extension() == ".toml") all.push_back(text_of(f.path()));
    return all;
}

/// An error says what was wrong, and where.
template <class Read>
bool is_read(const Read& read) {
    try {
        read();
        return true;
    } catch (const error& e) {
        EXPECT_STRNE(e.what(), "");
        return false;
    }
}

/// `each(text, input, random)` reads a mutated text; it returns early, or throws weft::error, if it does not. Many texts are
/// read, and many are not. Ends at the first failure, and shows the text.
template <class Each>
void try_inputs(const char* name, const std::vector<std::string>& corpus, int inputs, const Each& each) {
    const test::text_mutator texts(corpus);
    test::input_watch watch(name);
    int read = 0;
    for (int i = 0; i < inputs; ++i) {
        const auto input = static_cast<std::uint64_t>(i);
        watch.begin(input);
        auto random = test::generator_of(input);
        const std::string text = texts.draw(random);
        SCOPED_TRACE("input " + std::to_string(i));
        read += is_read([&] { each(text, input, random); });
        if (testing::Test::HasFailure()) {
            ADD_FAILURE() << text;
            return;
        }
    }
    std::printf("%s: %d inputs, %d read\n", name, inputs, read);
    EXPECT_GT(read, inputs / 50);
    EXPECT_LT(read, inputs);
}

/// Two tasks touch data at the same time, late; a message and a search happen; all of it ends.
void run_on(const machine& m, std::uint64_t input) {
    static const auto data = std::make_unique<std::array<char, 1 << 16>>();
    test::modelled model(make_policy(input % 2 ? "steal" : "near"), m, input, 1000);
    const auto touches = [](std::size_t from) {
        for (std::size_t i = 0; i < 4; ++i)
            touch(data->data() + from + 4096 * i, 6000, i % 2 ? access::read : access::readwrite);
        cost(1000);
    };
    auto root = [&] { join([&] { touches(0); }, [&] { touches(8000); }); };
    EXPECT_GE(model.run(root), 0);
    model.run([] { this_task::sleep_for(std::chrono::hours(24 * 365 * 9)); });
    EXPECT_GE(model.run(root), 0);
}

TEST(fuzz_files, machines) {
    WEFT_SEEDED;
    int read = 0, modelled = 0;
    const auto each = [&](const std::string& text, std::uint64_t input, auto&) {
        const machine m = parse_toml(text, "m.toml");
        ++read;
        if (m.size() > 256) return;
        EXPECT_FALSE(describe(m).empty());
        const machine full = with_typical_figures(m);
        EXPECT_FALSE(figures_of(full).empty());
        const machine again = parse_toml(to_toml(full), "again.toml");
        EXPECT_EQ(again.size(), m.size());
        if (read % 8 == 0 && m.size() <= 64) {
            ++modelled;
            run_on(full, input);
        }
    };
    try_inputs("fuzz_files.machines", machine_texts(), test::rounds(12'000), each);
    EXPECT_GT(modelled, 0);
}

TEST(fuzz_files, resources) {
    WEFT_SEEDED;
    const machine m = load_toml(source / "machines/opteron-8380-4x4.toml");
    std::vector<std::string> corpus = examples_of(text_of(source / "docs/resources.md"));
    corpus.push_back(
        "[[resource]]\nname = \"cores\"\nprobe = \"cores\"\nshare = 0.5\nper = \"package\"\nonly = [1, 2]\n"
        "oversubscribe = true\n[[resource]]\nname = \"m\"\nprobe = \"memory_gbps\"\nper = \"memory_node\"\n");
    const auto each = [&](const std::string& text, std::uint64_t, auto&) {
        static_cast<void>(parse_resources(text, "r.toml", m));
    };
    try_inputs("fuzz_files.resources", corpus, test::rounds(16'000), each);
}

TEST(fuzz_files, scenarios) {
    WEFT_SEEDED;
    const machine m =
        parse_toml("name = 'm'\n[[core_class]]\nname = 'big'\nfrequency_mhz = 2000\n"
                   "[[core_class]]\nname = 'little'\nspeed = 0.5\nfrequency_mhz = 1500\n"
                   "[[domain]]\nclass = 'big'\ncores = 2\n[[domain]]\nclass = 'little'\ncores = 2\n"
                   "[[memory_node]]\nbandwidth_gbps = 10\nlatency_ns = 80\n",
                   "m.toml");
    std::vector<std::string> corpus;
    for (const std::string& e : examples_of(text_of(source / "docs/modelled-machines.md")))
        if (e.find("[[change]]") != e.npos) corpus.push_back(e);
    corpus.push_back("[[change]]\nat_ms = 0\nuntil_ms = 3\ncores = 'big'\nload = 1\n"
                     "[[change]]\nat_ms = 1\nuntil_ms = 4\nmemory_node = 0\ntaken_gbps = 9\n"
                     "[[change]]\nat_ms = 2\ncores = [0, 3]\nfrequency_mhz = 700\n");
    ASSERT_EQ(corpus.size(), 2U);
    int read = 0, modelled = 0;
    const auto each = [&](const std::string& text, std::uint64_t, auto& random) {
        const engine::scenario events = engine::parse_scenario(text, "s.toml", m);
        const engine::core_speed speed(m, events);
        ++read;
        for (int rank = 0; rank < m.size(); ++rank) {
            const auto start = static_cast<time_ns>(random() >> (10 + random() % 50));
            const double took = speed.duration(rank, 1e5, work_kind::general, start);
            EXPECT_GT(took, 0);
            EXPECT_LT(took, 1e17); // a change lasts for at most 10^9 ms, and leaves a millionth
            const double share = speed.share(rank, start);
            EXPECT_TRUE(share >= 1e-6 && share <= 1) << share;
        }
        if (read % 16 != 0) return;
        ++modelled;
        engine::model_engine e(make_policy("steal"), m,
                               {.workers = m.size(), .spin_time = 0, .events = events});
        e.wait_until_quiescent();
        static std::array<char, 1 << 15> data;
        auto root = [&] {
            join([&] { touch(data.data(), 20'000, access::readwrite); },
                 [&] { touch(data.data() + 9'000, 20'000, access::read); });
        };
        engine::run_root(e, {[](void* f) { (*static_cast<decltype(root)*>(f))(); }, &root});
    };
    try_inputs("fuzz_files.scenarios", corpus, test::rounds(10'000), each);
    EXPECT_GT(modelled, 0);
}

} // namespace
} // namespace weft
