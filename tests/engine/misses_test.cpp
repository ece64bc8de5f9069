// usage::misses: what a task itself asked of what its core shares with others, for policies that want to
// know.
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

namespace weft {
namespace {

using counted = std::map<std::string, std::uint64_t>; ///< by the names of tasks

/// Random stealing that writes down what is said of tasks when they end.
class counting final : public policy {
public:
    explicit counting(counted& into) : into_(into) {}
    requirements attach(const machine& m, policy_context& context) override {
        requirements need = of_->attach(m, context);
        need.own_misses = true;
        return need;
    }
    placed ready(worker_id w, task& t, why reason) override { return of_->ready(w, t, reason); }
    pick next(worker_id w, bool last_look) override { return of_->next(w, last_look); }
    order spawn(worker_id w, task& parent, task& child) override { return of_->spawn(w, parent, child); }
    void finished(worker_id, task& t, const usage& used) override {
        const std::lock_guard guard(lock_);
        ASSERT_TRUE(used.misses);
        into_[std::string(t.hint().name)] += *used.misses;
    }

private:
    const std::unique_ptr<policy> of_ = make_policy("steal-parent-first");
    counted& into_;
    std::mutex lock_;
};

constexpr std::size_t lines = 1024, line_bytes = 64;

/// "first" comes to new data, "again" to the same once more, "parent" to a line of its own.
void program() {
    static const std::vector<std::byte> data((lines + 2) * line_bytes);
    const auto begin =
        (reinterpret_cast<std::uintptr_t>(data.data()) + line_bytes - 1) / line_bytes * line_bytes;
    const auto* const first = reinterpret_cast<const std::byte*>(begin);
    for (const char* name : {"first", "again"}) {
        task_group g;
        g.run([first] { touch(first, lines * line_bytes, access::read); }, {.name = name});
        g.wait();
    }
    touch(first + lines * line_bytes, 1, access::read);
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
        EXPECT_NE(model.engine.describe_run({}, true).find(R"("misses_from":"model")"), std::string::npos);
    }
    // A block of the model is larger than a line, but only what is touched of it moves.
    EXPECT_EQ(seen["first"], lines);
    // Whoever runs it: the same core has all of it, the other one nothing.
    EXPECT_TRUE(seen["again"] == 0 || seen["again"] == lines) << seen["again"];
    EXPECT_EQ(seen[""], 1U); // the root: not what its children asked for
}

TEST(misses, of_threads_are_counted_or_else_what_is_declared) {
    counted seen;
    {
        engine::thread_engine threads(std::make_unique<counting>(seen), load_machine(""),
                                      test::options_of(2));
        engine::run_root(threads, {[](void*) { program(); }, nullptr});
        if (threads.misses_from == engine::miss_source::counters)
            GTEST_SKIP() << "this machine has counters, whose figures no test can foresee";
        EXPECT_EQ(threads.misses_from, engine::miss_source::declared);
    }
    EXPECT_EQ(seen["first"], lines);
    EXPECT_EQ(seen["again"], lines);
    EXPECT_EQ(seen[""], 1U);
}

TEST(misses, nobody_counts_for_a_policy_that_does_not_ask) {
    test::modelled model("steal", test::equal_cores(2));
    model.run([] { program(); });
    EXPECT_EQ(model.engine.describe_run({}, true).find("misses_from"), std::string::npos);
    EXPECT_EQ(test::bare_engine("steal", test::options_of(1)).engine.misses_from,
              engine::miss_source::nobody);
}

} // namespace
} // namespace weft
