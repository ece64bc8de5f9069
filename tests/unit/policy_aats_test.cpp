// AATS without an engine, on the machine of table 5.5 (Chen & Guo 2017): groups {c0}, {c1, c2}, {c3}. When batches begin, which
// worker takes which class, and what ends the classes.
#include "policy/fake_context.hpp"
#include "policy/seam/registry.hpp"
#include "task/task_class.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {
namespace {

constexpr std::array<double, 4> speeds = {1, 0.5, 0.5, 0.25};
constexpr std::array<std::string_view, 7> names = {"0", "1", "2", "3", "4", "5", "6"}; // of classes

machine equal_machine() {
    machine_parts parts;
    for (int i = 0; i < 2; ++i) parts.cores.push_back({.physical_core = i});
    parts.core_classes.emplace_back();
    parts.memory_nodes.push_back({.ranks = {0, 2}});
    return machine(std::move(parts));
}

machine unequal_machine() {
    machine_parts parts;
    parts.core_classes = {{.name = "fast", .speed = speeds[0]},
                          {.name = "middle", .speed = speeds[1]},
                          {.name = "slow", .speed = speeds[3]}};
    for (int i = 0; i < 4; ++i)
        parts.cores.push_back({.core_class = i == 0 ? 0 : i < 3 ? 1 : 2, .physical_core = i});
    parts.memory_nodes.push_back({.ranks = {0, 4}});
    return machine(std::move(parts));
}

class aats_policy : public testing::Test {
protected:
    explicit aats_policy(const std::string& spec = "aats") : policy_(make_policy(spec)) {
        need_ = policy_->attach(unequal_machine(), context_);
        policy_->ready(0, main_, ready_reason::root);
        EXPECT_EQ(policy_->next(0, false).t, &main_);
        run(0, main_);
    }

    /// Tasks of one name are of one class.
    task& add(std::uint64_t key, task* parent = nullptr) {
        task& t = tasks_.emplace_back();
        t.hint_.name = names[key];
        t.parent_ = parent == nullptr ? &main_ : parent;
        t.group_ = &group_;
        last_order_ = policy_->spawn(0, *t.parent_, t);
        if (last_order_ == spawn_order::parent_first) policy_->ready(0, t, ready_reason::spawned);
        return t;
    }
    void begin_batch() {
        group_.owner_ = &main_;
        policy_->group_begin(0, main_, group_);
    }
    void end_batch() { policy_->group_wait(0, main_, group_); }

    task* next(worker_id w, bool last_look = false) { return policy_->next(w, last_look).t; }
    void run(worker_id w, task& t) {
        policy_->started(w, t);
        t.state_ = task_state::running;
    }
    /// The task takes so long on a core of speed 1, and computes all that time.
    void end(worker_id w, task& t, time_ns work) {
        const auto self =
            static_cast<time_ns>(static_cast<double>(work) / speeds[static_cast<std::size_t>(w)]);
        policy_->finished(w, t,
                          {.self = self,
                           .wall = self,
                           .instructions = static_cast<std::uint64_t>(work),
                           .misses = {},
                           .cancelled = false});
    }
    /// Every class has been seen on every group; key 1 is the heaviest.
    void learn(int classes) {
        for (const worker_id w : {0, 1, 3}) {
            for (int key = 1; key <= classes; ++key) {
                begin_batch();
                task& t = add(static_cast<std::uint64_t>(key));
                end_batch();
                ASSERT_EQ(next(w), &t);
                run(w, t);
                end(w, t, 100'000 >> key);
            }
        }
    }
    static std::uint64_t key_of(const task* t) {
        return t == nullptr ? 0 : static_cast<std::uint64_t>(t->hint().name[0] - '0');
    }

    test::fake_context context_{4};
    std::unique_ptr<policy> policy_;
    requirements need_;
    test::task_with_bytes main_;
    group group_;
    std::deque<test::task_with_bytes> tasks_;
    spawn_order last_order_{};
};

TEST_F(aats_policy, workers_wait_until_the_batch_is_complete) {
    EXPECT_EQ(need_.tick, 1'000'000);
    begin_batch();
    task& t = add(1);
    EXPECT_EQ(last_order_, spawn_order::parent_first);
    EXPECT_EQ(next(0), nullptr);
    EXPECT_EQ(next(1, true), nullptr);
    EXPECT_TRUE(context_.woken.empty());
    end_batch();
    ASSERT_FALSE(context_.woken.empty());
    EXPECT_EQ(context_.woken.back().size(), 4);
    EXPECT_EQ(next(1), &t);
}

TEST_F(aats_policy, a_task_that_waits_for_anything_ends_its_batch) {
    begin_batch();
    task& t = add(1);
    policy_->blocked(0, main_, ready_reason::unblocked);
    EXPECT_EQ(next(2), &t);
}

/// Where too many children wait, the engine calls further ones on the stack of the task that spawns them.
TEST_F(aats_policy, a_called_child_that_waits_ends_the_batch_of_its_caller) {
    begin_batch();
    task& queued = add(1);
    task& called = tasks_.emplace_back();
    called.hint_.name = names[2];
    called.parent_ = &main_;
    called.group_ = &group_;
    policy_->spawn(0, main_, called);
    run(0, called);
    EXPECT_EQ(next(2), nullptr);
    policy_->blocked(0, called, ready_reason::joined);
    EXPECT_EQ(next(2), &queued);
}

TEST_F(aats_policy, a_batch_that_does_not_grow_begins_at_a_tick) {
    begin_batch();
    task& t = add(1);
    policy_->tick(1);
    EXPECT_EQ(next(2), nullptr) << "it grew before this tick";
    policy_->tick(2);
    policy_->tick(3);
    EXPECT_EQ(next(2), &t);
    task& late = add(1);
    EXPECT_EQ(next(2), &late) << "what the batch was is over";
}

TEST_F(aats_policy, a_free_core_takes_from_a_random_pool_until_all_classes_are_known) {
    begin_batch();
    for (int i = 0; i < 3; ++i)
        for (const std::uint64_t key : {1, 2, 3}) add(key);
    end_batch();
    context_.bounds.clear();
    context_.draws = {2, 0, 1};
    EXPECT_EQ(key_of(next(0)), 3U);
    EXPECT_EQ(key_of(next(3)), 1U);
    EXPECT_EQ(key_of(next(1)), 2U);
    EXPECT_EQ(context_.bounds, (std::vector<std::uint32_t>{3, 3, 3}));
}

TEST_F(aats_policy, cores_help_the_weaker_first) {
    learn(3);
    const std::array<std::vector<std::uint64_t>, 4> wanted = {{{1, 2, 3}, {2, 3, 1}, {2, 3, 1}, {3, 2, 1}}};
    for (worker_id w = 0; w < 4; ++w) {
        begin_batch();
        for (const std::uint64_t key : {1, 2, 3}) add(key);
        end_batch();
        std::vector<std::uint64_t> taken;
        for (int i = 0; i < 3; ++i) taken.push_back(key_of(next(w)));
        EXPECT_EQ(taken, wanted[static_cast<std::size_t>(w)]) << w;
        EXPECT_EQ(next(w), nullptr);
    }
}

TEST_F(aats_policy, a_pool_of_the_cluster_is_drawn) {
    learn(6); // tasks of 50, 25, 12.5, 6.25, 3.125 and 1.5625 us
    begin_batch();
    for (const std::uint64_t key : {1, 2, 3, 4, 5, 6}) add(key);
    end_batch(); // of equally good cuts the last: {1}, {2, 3, 4, 5}, {6}
    context_.bounds.clear();
    context_.draws = {1, 1, 1};
    std::vector<std::uint64_t> taken;
    for (int i = 0; i < 6; ++i) taken.push_back(key_of(next(1)));
    EXPECT_EQ(taken, (std::vector<std::uint64_t>{3, 4, 5, 2, 6, 1}));
    EXPECT_EQ(context_.bounds, (std::vector<std::uint32_t>{4, 3, 2}));
}

TEST_F(aats_policy, the_main_task_is_for_the_fastest_core) {
    policy_->blocked(0, main_, ready_reason::joined);
    main_.state_ = task_state::suspended;
    const placement at = policy_->ready(3, main_, ready_reason::joined);
    EXPECT_EQ(at.who.first, 0);
    EXPECT_EQ(at.who.last, 1);
    EXPECT_EQ(next(3), nullptr);
    EXPECT_EQ(next(1), nullptr);
    EXPECT_EQ(next(0), &main_);
    policy_->ready(3, main_, ready_reason::joined);
    EXPECT_EQ(next(3, true), &main_) << "nothing is hidden from a worker that goes to sleep";
}

TEST_F(aats_policy, a_root_beside_the_main_task_is_a_task_like_any) {
    test::task_with_bytes future;
    policy_->ready(0, future, ready_reason::root);
    EXPECT_EQ(next(3), &future);
    run(3, future);
    end(3, future, 10);
    policy_->finished(0, main_, {});
    test::task_with_bytes next_main;
    policy_->ready(0, next_main, ready_reason::root);
    EXPECT_EQ(next(3), nullptr);
    EXPECT_EQ(next(0), &next_main);
}

TEST_F(aats_policy, divide_and_conquer_is_stolen) {
    begin_batch();
    task& parent = add(1);
    EXPECT_TRUE(policy_->victims(2).empty());
    end_batch();
    EXPECT_EQ(next(1), &parent);
    run(1, parent);
    task& other = add(2, &parent);
    EXPECT_EQ(last_order_, spawn_order::parent_first);
    task& child = add(1, &other); // by way of another class
    EXPECT_EQ(last_order_, spawn_order::parent_first);
    add(1, &child);
    EXPECT_EQ(last_order_, spawn_order::lazy);
    EXPECT_EQ(policy_->victims(2).size(), 4);
    std::set<task*> found;
    while (task* const t = next(2, true)) found.insert(t);
    EXPECT_EQ(found, (std::set<task*>{&other, &child})) << "what lay in the pools is not lost";
    EXPECT_TRUE(policy_->next(2, false).ask);
}

TEST_F(aats_policy, a_loop_is_cut_at_once) { EXPECT_GT(policy_->pieces(0, main_), 4); }

class aats_in_order : public aats_policy {
protected:
    aats_in_order() : aats_policy("aats:order=class") {}
};

TEST_F(aats_in_order, the_pool_of_the_longest_tasks_of_a_cluster_comes_first) {
    learn(6);
    begin_batch();
    for (const std::uint64_t key : {4, 6, 2, 3, 5, 1, 3}) add(key);
    end_batch(); // {1}, {2, 3, 4, 5}, {6}, as above
    std::vector<std::uint64_t> taken;
    for (int i = 0; i < 7; ++i) taken.push_back(key_of(next(1)));
    EXPECT_EQ(taken, (std::vector<std::uint64_t>{2, 3, 3, 4, 5, 6, 1}));
}

class aats_np : public aats_policy {
protected:
    aats_np() : aats_policy("aats:np=on") {}
};

TEST_F(aats_np, no_worker_leaves_its_cluster) {
    learn(3);
    begin_batch();
    for (const std::uint64_t key : {1, 2, 3}) add(key);
    end_batch();
    EXPECT_EQ(key_of(next(1)), 2U);
    EXPECT_EQ(next(1), nullptr);
    EXPECT_EQ(next(2, true), nullptr);
    EXPECT_EQ(key_of(next(3, true)), 3U);
    EXPECT_EQ(next(3, true), nullptr);
    EXPECT_EQ(key_of(next(0)), 1U);
}

class aats_ts : public aats_policy {
protected:
    aats_ts() : aats_policy("aats:ts=on") {}

    /// Classes are known, and divided among the groups.
    void learn_and_divide() {
        learn(3);
        begin_batch();
        for (const std::uint64_t key : {1, 2, 3}) add(key);
        end_batch();
        while (next(0) != nullptr) {}
        ASSERT_TRUE(context_.exchanged.empty());
    }
    /// Workers 1 to 3 run tasks of these classes; 0: of one that was never seen.
    void others_run(std::array<std::uint64_t, 3> keys) {
        context_.runs.assign(4, {});
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const hints of{.name = keys[i] == 0 ? "new" : names[keys[i]]};
            context_.runs[i + 1] = {.busy = true, .of_class = class_of(of, nullptr)};
        }
    }
    using pairs = std::vector<std::pair<worker_id, worker_id>>;
};

TEST_F(aats_ts, a_faster_core_takes_over_the_largest_task) {
    EXPECT_TRUE(need_.snapshots);
    EXPECT_TRUE(need_.exchanges);
    learn_and_divide();
    others_run({2, 1, 3});
    EXPECT_EQ(next(0), nullptr);
    EXPECT_EQ(context_.exchanged, (pairs{{0, 2}}));
    EXPECT_EQ(context_.core_of(2), 0);
    others_run({2, 1, 3});
    EXPECT_EQ(next(0), nullptr); // on a middle core now: the task of worker 2 runs on a faster one
    EXPECT_EQ(context_.exchanged, (pairs{{0, 2}, {0, 3}}));
    EXPECT_EQ(next(0), nullptr) << "on the slowest core there is nothing to take over";
    EXPECT_EQ(context_.exchanged.size(), 2u);
}

TEST_F(aats_ts, of_equally_large_tasks_one_is_drawn) {
    learn_and_divide();
    others_run({2, 3, 2});
    context_.draws = {0, 1}; // the first for the deque that is looked at
    EXPECT_EQ(next(0), nullptr);
    EXPECT_EQ(context_.bounds.back(), 2U);
    EXPECT_EQ(context_.exchanged, (pairs{{0, 3}}));
}

TEST_F(aats_ts, a_task_of_an_unknown_class_is_the_smallest) {
    learn_and_divide();
    others_run({0, 3, 0});
    EXPECT_EQ(next(0), nullptr);
    EXPECT_EQ(context_.exchanged, (pairs{{0, 2}}));
}

TEST_F(aats_ts, no_worker_snatches_what_it_need_not_or_cannot_judge) {
    others_run({1, 1, 1});
    EXPECT_EQ(next(0, true), nullptr);
    EXPECT_TRUE(context_.exchanged.empty()) << "how long tasks take is not known yet";
    context_.runs.clear();
    learn(3);
    begin_batch();
    for (const std::uint64_t key : {1, 2}) add(key);
    end_batch();
    others_run({1, 2, 3});
    EXPECT_EQ(key_of(next(0)), 1U);
    EXPECT_EQ(key_of(next(0)), 2U);
    EXPECT_TRUE(context_.exchanged.empty()) << "there were tasks";
    context_.runs.assign(4, {});
    context_.runs[0] = {.busy = true, .of_class = class_of(hints{.name = names[1]}, nullptr)};
    for (const worker_id w : {1, 2, 3}) EXPECT_EQ(next(w, true), nullptr);
    EXPECT_TRUE(context_.exchanged.empty()) << "they are on slower cores";
}

TEST_F(aats_ts, a_task_that_changed_cores_is_no_measure) {
    learn_and_divide();
    for (int i = 0; i < 9; ++i) {
        begin_batch();
        task& t = add(2);
        end_batch();
        EXPECT_EQ(next(3), &t);
        run(3, t);
        std::swap(context_.cores[0], context_.cores[3]);
        end(3, t, 1); // would make it the smallest
        std::swap(context_.cores[0], context_.cores[3]);
    }
    others_run({2, 3, 3});
    EXPECT_EQ(next(0), nullptr);
    EXPECT_EQ(context_.exchanged, (pairs{{0, 1}}));
}

TEST_F(aats_ts, a_task_that_begins_on_a_slow_core_wakes_a_sleeper_on_a_faster_one) {
    learn_and_divide();
    begin_batch();
    task& t = add(2);
    end_batch();
    EXPECT_EQ(next(3), &t);
    EXPECT_EQ(next(0, true), nullptr);
    context_.woken.clear();
    run(3, t);
    ASSERT_EQ(context_.woken.size(), 1u);
    EXPECT_EQ(context_.woken[0].first, 0);
    EXPECT_EQ(context_.woken[0].last, 1);
    policy_->resumed(3, t);
    EXPECT_EQ(context_.woken.size(), 1u) << "once";
}

TEST_F(aats_ts, divide_and_conquer_is_stolen_and_not_snatched) {
    learn_and_divide();
    begin_batch();
    task& parent = add(1);
    end_batch();
    EXPECT_EQ(next(1), &parent);
    run(1, parent);
    add(1, &parent);
    add(1, &parent);
    EXPECT_EQ(last_order_, spawn_order::lazy);
    while (next(2, true) != nullptr) {}
    others_run({1, 2, 3});
    EXPECT_EQ(next(0, true), nullptr);
    EXPECT_TRUE(context_.exchanged.empty());
}

class aats_guard : public aats_policy {
protected:
    aats_guard() : aats_policy("aats:guard=on") {}
};

TEST_F(aats_guard, a_slow_core_leaves_what_a_fast_one_will_come_to) {
    learn(3);
    begin_batch();
    for (int i = 0; i < 3; ++i) add(1);
    for (const std::uint64_t key : {2, 3}) add(key);
    end_batch();
    EXPECT_EQ(key_of(next(1)), 2U);
    EXPECT_EQ(key_of(next(1)), 3U);
    EXPECT_EQ(key_of(next(1)), 1U) << "three wait for one core: 150 us there, 100 us here";
    EXPECT_EQ(key_of(next(2)), 1U) << "two wait: 100 us there, 100 us here";
    EXPECT_EQ(next(2), nullptr) << "one waits: 50 us there, 100 us here";
    EXPECT_EQ(key_of(next(0)), 1U);
}

TEST(aats, equal_cores_steal_parent_first) {
    test::fake_context context(2);
    const auto p = make_policy("aats");
    const requirements need = p->attach(equal_machine(), context);
    EXPECT_EQ(need.tick, 0);
    EXPECT_EQ(need.task_bytes, 0);
    test::task_with_bytes parent, older, younger;
    EXPECT_EQ(p->spawn(0, parent, older), spawn_order::parent_first);
    p->ready(0, older, ready_reason::spawned);
    p->ready(0, younger, ready_reason::spawned);
    EXPECT_EQ(p->next(1, true).t, &older);
    EXPECT_EQ(p->next(0, true).t, &younger);
}

} // namespace
} // namespace weft
