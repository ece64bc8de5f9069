// usage::misses and usage::instructions: what a task itself asked of what its core shares with others, and
// what it computed, for policies that want to know.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/bare_engine.hpp"
#include "engine/modelled.hpp"
#include "engine/observe/tally.hpp"
#include "engine/ports/meter.hpp"

namespace weft {
namespace {

struct counted { ///< by the names of tasks
    std::map<std::string, std::uint64_t> misses, instructions;
    bool knows_instructions = false;
};

/// Random stealing that writes down what is said of tasks when they end.
class counting final : public policy {
public:
    explicit counting(counted& into) : into_(into) {}
    requirements attach(const machine& m, policy_context& context) override {
        requirements need = of_->attach(m, context);
        need.own_misses = true;
        return need;
    }
    placement ready(worker_id w, task& t, ready_reason reason) override { return of_->ready(w, t, reason); }
    decision next(worker_id w, bool last_look) override { return of_->next(w, last_look); }
    spawn_order spawn(worker_id w, task& parent, task& child) override {
        return of_->spawn(w, parent, child);
    }
    void finished(worker_id, task& t, const usage& used) override {
        const std::lock_guard guard(lock_);
        ASSERT_TRUE(used.misses);
        const std::string name(t.hint().name);
        into_.misses[name] += *used.misses;
        into_.instructions[name] += used.instructions.value_or(0);
        into_.knows_instructions = used.instructions.has_value();
    }

private:
    const std::unique_ptr<policy> of_ = make_policy("steal-parent-first");
    counted& into_;
    std::mutex lock_;
};

constexpr std::size_t lines = 1024, line_bytes = 64;

constexpr std::uint64_t cycles = 5000;

/// "first" comes to new data, "again" to the same once more, their parent to a line of its own. Each
/// computes.
void program() {
    static const std::vector<std::byte> data((lines + 2) * line_bytes);
    const auto begin =
        (reinterpret_cast<std::uintptr_t>(data.data()) + line_bytes - 1) / line_bytes * line_bytes;
    const auto* const first = reinterpret_cast<const std::byte*>(begin);
    for (const char* name : {"first", "again"}) {
        task_group g;
        g.run(
            [first] {
                touch(first, lines * line_bytes, access::read);
                cost(cycles);
                cost(cycles);
            },
            {.name = name});
        g.wait();
    }
    touch(first + lines * line_bytes, 1, access::read);
    cost(cycles);
}

constexpr const char* a_core_with_a_cache = R"(
name = 'two cores'
[[core_class]]
name = 'core'
frequency_mhz = 1000
[regular]
packages = 1
domains_per_package = 1
cores_per_domain = 2
[[cache]]
level = 1
bytes = "256 KiB"
[[cache]]
level = 2
bytes = "1 MiB"
shared_by = "domain"
)";

TEST(misses, of_the_model_are_what_the_private_caches_did_not_have) {
    counted seen;
    {
        test::modelled model(std::make_unique<counting>(seen), parse_toml(a_core_with_a_cache, "two cores"));
        model.run([] { program(); });
        const std::string report = model.engine.describe_run({}, true);
        EXPECT_NE(report.find(R"("misses_from":"model","instructions_from":"declared")"), std::string::npos);
    }
    // A block of the model is larger than a line, but only what is touched of it moves.
    EXPECT_EQ(seen.misses["first"], lines);
    // Whichever worker runs it: its core has all of it, the other one nothing.
    EXPECT_TRUE(seen.misses["again"] == 0 || seen.misses["again"] == lines) << seen.misses["again"];
    EXPECT_EQ(seen.misses[""], 1U); // the root: not what its children asked for
    EXPECT_TRUE(seen.knows_instructions);
    EXPECT_EQ(seen.instructions["first"], 2 * cycles);
    EXPECT_EQ(seen.instructions[""], cycles);
}

TEST(misses, of_threads_are_counted_or_else_what_is_declared) {
    counted seen;
    {
        engine::thread_engine threads(std::make_unique<counting>(seen), load_machine(""),
                                      test::options_of(2));
        engine::run_root(threads, {[](void*) { program(); }, nullptr});
        if (threads.meter.misses_from == engine::count_source::counters)
            GTEST_SKIP() << "this machine has counters, whose figures no test can foresee";
        EXPECT_EQ(threads.meter.misses_from, engine::count_source::declared);
        EXPECT_EQ(threads.meter.instructions_from, engine::count_source::unknown);
    }
    EXPECT_EQ(seen.misses["first"], lines);
    EXPECT_EQ(seen.misses["again"], lines);
    EXPECT_EQ(seen.misses[""], 1U);
    EXPECT_FALSE(seen.knows_instructions);
}

TEST(misses, are_not_counted_for_a_policy_that_does_not_ask) {
    test::modelled model("steal", test::equal_cores(2));
    model.run([] { program(); });
    EXPECT_EQ(model.engine.describe_run({}, true).find("_from"), std::string::npos);
    const test::bare_engine threads("steal", test::options_of(1));
    EXPECT_EQ(threads.engine.meter.misses_from, engine::count_source::none);
    EXPECT_EQ(threads.engine.meter.instructions_from, engine::count_source::none);
}

} // namespace
} // namespace weft
