// ctest: labels=not_tsan
//
// What locality is worth on a machine of four sockets: heat2d under random stealing, and with every strip
// where its rows are (Chen and Guo, Task Scheduling for Multi-core and Parallel Architectures, section 3.8,
// Table 3.5: a schedule that keeps neighbours together has 73 % fewer misses of the third level on this
// machine).
#include "../../examples/heat2d/heat2d.hpp"

#include "engine/by_hand.hpp"
#include "policy/seam/registry.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>

namespace weft {
namespace {

constexpr policy_entry by_hand_entry = {
    .name = "by-hand",
    .summary = "a child goes where its priority says",
    .source = "this test",
    .knobs = {},
    .make = [](const knob_values&) -> std::unique_ptr<policy> { return std::make_unique<test::by_hand>(); }};

struct outcome {
    double third_level_misses, remote_bytes, seconds;
};

/// Ten sweeps over two grids that fit into the four third-level caches together, not into one of them.
outcome heat_under(const std::string& policy, bool by_strips) {
    constexpr std::size_t rows = 1024, cols = 1024, leaf_rows = 16;
    runtime_options o;
    o.engine = "model";
    o.machine = WEFT_SOURCE_DIR "/machines/opteron-8380-4x4.toml";
    o.policy = policy;
    o.seed = 1;
    runtime rt(o);
    examples::grid a(rows, cols), b(rows, cols);
    const std::size_t strips = rows / leaf_rows;
    const auto each_strip = [&](auto body) {
        task_group g;
        for (std::size_t s = 0; s < strips; ++s) {
            const int worker = static_cast<int>(s * static_cast<std::size_t>(rt.workers()) / strips);
            g.run([=] { body(1 + s * leaf_rows, 1 + (s + 1) * leaf_rows); }, hints{.priority = worker});
        }
        g.wait();
    };
    rt.run([&] {
        if (!by_strips) return examples::heat_start(a, b, examples::heat_mode{}, leaf_rows);
        each_strip([&](std::size_t first, std::size_t last) {
            examples::heat_start(a, b, examples::heat_mode{}, first, last, leaf_rows);
        });
    });
    rt.run([&] {
        if (!by_strips) return examples::heat(a, b, 10, leaf_rows);
        for (int k = 0; k < 10; ++k)
            each_strip([&](std::size_t first, std::size_t last) {
                if (k % 2 == 0)
                    examples::heat_sweep(a, b, first, last, leaf_rows);
                else
                    examples::heat_sweep(b, a, first, last, leaf_rows);
            });
    });
    const auto report = nlohmann::json::parse(rt.report(report_format::json));
    double remote = 0;
    for (const auto& n : report["memory_nodes"]) remote += n["remote_bytes"].get<double>();
    return {report["caches"][2]["misses"].get<double>(), remote, report["seconds"].get<double>()};
}

TEST(model_placement, misses_fall_when_every_strip_runs_where_its_rows_are) {
    static std::once_flag once; // the test may be repeated in one process
    std::call_once(once, [] { register_policy(by_hand_entry); });
    const outcome random = heat_under("steal", false);
    const outcome placed = heat_under("by-hand", true);
    const double misses = placed.third_level_misses / random.third_level_misses;
    std::cout << "misses of the third level: random " << random.third_level_misses << ", placed "
              << placed.third_level_misses << ", ratio " << misses << "; remote bytes " << random.remote_bytes
              << " and " << placed.remote_bytes << "; seconds " << random.seconds << " and " << placed.seconds
              << '\n';
    EXPECT_LT(misses, 0.3);
    EXPECT_LT(placed.remote_bytes, random.remote_bytes / 10);
    EXPECT_LT(placed.seconds, random.seconds);
}

} // namespace
} // namespace weft
