// Tests the tools of conformance_test.cpp: what they record is all that a policy can depend on, and a policy
// that depends on anything else is detected.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "engine/recorded_runs.hpp"
#include "policy/replay.hpp"
#include "policy/seam/registry.hpp"

namespace weft {
namespace {

using namespace test;

/// Decides by a hash of everything that it was ever told, could read, and has written into tasks and groups.
class curious final : public policy {
public:
    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        mix(m.size(), context.all().size());
        return {.task_bytes = sizeof(std::uint64_t),
                .group_bytes = sizeof(std::uint64_t),
                .own_usage = true,
                .demotable = true,
                .resizable = true};
    }
    placement ready(worker_id w, task& t, ready_reason reason) override {
        read(w, t);
        if (mix(reason) % 3 == 0)
            queue_.push_front(&t);
        else
            queue_.push_back(&t);
        if (seen_ % 7 == 0) context_->wake(context_->active());
        return {context_->all().last, context_->active()};
    }
    decision next(worker_id w, bool) override {
        const place_id queue = context_->all().last;
        if (!queue_.empty()) {
            task* const t = queue_.front();
            queue_.pop_front();
            return {t, queue};
        }
        const auto victim = static_cast<worker_id>(context_->random(w, static_cast<std::uint32_t>(queue)));
        return {nullptr, victim, victim != w};
    }
    workers victims(worker_id) override { return context_->all(); }
    spawn_order spawn(worker_id w, task& parent, task& child) override {
        read(w, parent);
        child.data<std::uint64_t>() = parent.data<std::uint64_t>() + 1;
        read(w, child);
        return static_cast<spawn_order>(seen_ % 4);
    }
    int pieces(worker_id w, task& loop) override { return read(w, loop), static_cast<int>(seen_ % 5); }
    void group_begin(worker_id w, task& t, group& g) override { read(w, t, g); }
    after_wait group_wait(worker_id w, task& t, group& g) override {
        read(w, t, g);
        return seen_ % 4 == 0 ? after_wait::requeue : after_wait::stay;
    }
    void group_end(worker_id w, task& t, group& g) override { read(w, t, g); }
    void started(worker_id w, task& t) override { read(w, t); }
    void blocked(worker_id w, task& t, ready_reason reason) override { read(w, t), mix(reason); }
    void resumed(worker_id w, task& t) override { read(w, t); }
    void finished(worker_id w, task& t, const usage& used) override {
        read(w, t), mix(used.self, used.wall, used.cancelled);
    }
    void iteration(worker_id w, task& t, int k) override { read(w, t), mix(k); }
    void resized(workers active) override { mix(active.first, active.last); }

private:
    template <class... Numbers>
    std::uint64_t mix(Numbers... n) {
        return ((seen_ = (seen_ ^ static_cast<std::uint64_t>(n)) * 0x9e3779b97f4a7c15u, seen_ ^= seen_ >> 29),
                ...);
    }
    void read(worker_id w, task& t) {
        mix(w, context_->now(), context_->core_of(w), t.data<std::uint64_t>(), t.id(), t.level(), t.index(),
            t.root(), t.last(), t.fresh(), t.hint().priority, t.hint().work, t.hint().name.size(),
            t.parent() != nullptr, t.level() > 0 && t.parent_group() != nullptr);
        if (t.parent()) mix(t.parent()->id(), t.parent()->level(), t.parent()->data<std::uint64_t>());
        ++t.data<std::uint64_t>();
    }
    void read(worker_id w, task& t, group& g) {
        read(w, t);
        mix(g.id(), g.owner() == &t, g.hint().work, g.data<std::uint64_t>()++);
    }

    policy_context* context_ = nullptr;
    std::uint64_t seen_ = 1;
    std::deque<task*> queue_; ///< under the recorder's lock
};

TEST(recording_and_replay, lists_all_that_a_policy_can_read) {
    for (std::uint64_t seed = 1; seed <= programs(); ++seed) {
        curious in_model, in_threads;
        const auto modelled = record_in_model(std::make_unique<curious>(), sixteen_cores, seed);
        EXPECT_EQ(replay(modelled, in_model, sixteen_cores), std::nullopt) << seed;
        const auto threaded = record_in_threads(std::make_unique<curious>(), seed);
        EXPECT_EQ(replay(threaded, in_threads, four_cores), std::nullopt) << seed;
    }
}

// One bit of one argument, anywhere in the list, and the policy decides otherwise from there on.
TEST(recording_and_replay, notices_one_bit) {
    const auto list = record_in_model(std::make_unique<curious>(), four_cores, 1);
    for (std::size_t at = list.size() / 40; at < list.size() * 3 / 4; at += list.size() / 40) {
        recording changed = list;
        const auto e = std::find_if(changed.begin() + static_cast<std::ptrdiff_t>(at), changed.end(),
                                    [](const event& x) { return !x.tasks.empty(); });
        ASSERT_NE(e, changed.end());
        e->tasks[0].index ^= 1;
        curious again;
        EXPECT_NE(replay(changed, again, four_cores), std::nullopt) << at;
    }
}

enum class depends_on : std::uint8_t { nothing_else, other_objects, real_time, addresses };

/// A central queue, the front of which is open to some.
class odd_queue final : public policy {
public:
    explicit odd_queue(depends_on what) : what_(what) {}

    requirements attach(const machine&, policy_context& context) override {
        return context_ = &context, requirements{};
    }
    placement ready(worker_id, task& t, ready_reason) override {
        if (goes_first(t))
            queue_.push_front(&t);
        else
            queue_.push_back(&t);
        return {context_->all().last, context_->active()};
    }
    decision next(worker_id, bool) override {
        if (queue_.empty()) return {};
        task* const t = queue_.front();
        queue_.pop_front();
        return {t, context_->all().last};
    }
    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

private:
    bool goes_first(const task& t) const {
        static int offered_by_all = 0;
        switch (what_) {
        case depends_on::nothing_else: return t.index() % 2 == 1;
        case depends_on::other_objects: return ++offered_by_all > 40;
        case depends_on::real_time:
            return std::chrono::steady_clock::now().time_since_epoch().count() / 64 % 2 == 1;
        case depends_on::addresses:
            return reinterpret_cast<std::uintptr_t>(&t) * 0x9e3779b97f4a7c15u >> 63 == 1;
        }
        return false;
    }

    const depends_on what_;
    policy_context* context_ = nullptr;
    std::deque<task*> queue_; ///< under the recorder's lock
};

TEST(recording_and_replay, accepts_a_policy_that_depends_on_what_it_is_told) {
    const auto list = record_in_model(std::make_unique<odd_queue>(depends_on::nothing_else), four_cores, 1);
    odd_queue again(depends_on::nothing_else);
    EXPECT_EQ(replay(list, again, four_cores), std::nullopt);
}

TEST(recording_and_replay, catches_a_policy_that_depends_on_anything_else) {
    for (const auto what : {depends_on::other_objects, depends_on::real_time, depends_on::addresses}) {
        const auto list = record_in_model(std::make_unique<odd_queue>(what), four_cores, 1);
        odd_queue again(what);
        EXPECT_NE(replay(list, again, four_cores), std::nullopt) << static_cast<int>(what);
    }
}

// The seed of another run, or another policy, is another list.
TEST(recording_and_replay, catches_another_policy) {
    const auto list = record_in_model(make_policy("steal"), four_cores, 1);
    EXPECT_NE(replay(list, *make_policy("near"), four_cores), std::nullopt);
    EXPECT_NE(replay(list, *make_policy("share"), four_cores), std::nullopt);
}

} // namespace
} // namespace weft
