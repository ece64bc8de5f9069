// The parts of LAWS without an engine: which part of the data a task has (4.5), which subtrees fit a cache
// (4.6), the search for their size (Algorithm 6), and which worker may take what (4.7, 4.9).
#include "policy/fake_context.hpp"
#include "policy/parts/cache_friendly.hpp"
#include "policy/parts/data_allocator.hpp"
#include "policy/parts/miss_intensity.hpp"
#include "policy/seam/registry.hpp"

#include "machine/load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace weft {
namespace {

// ---- the allocator

/// M sockets of one worker, and children of one parent.
struct divided {
    explicit divided(int sockets) {
        std::vector<workers> list;
        for (int i = 0; i < sockets; ++i) list.push_back({i, i + 1});
        allocator.attach(list);
    }
    /// Parts of the children, the parent having [from, to).
    std::vector<interval> divide(interval all, const std::vector<hints>& children) {
        task parent;
        parent.hint_ = parents;
        group in;
        in.hint_ = &groups;
        data_allocator::group_part given{};
        std::vector<interval> parts;
        for (const hints& h : children) {
            task child;
            child.parent_ = &parent;
            child.group_ = &in;
            child.hint_ = h;
            parts.push_back(allocator.part_of(parent, all, child, given));
        }
        return parts;
    }
    std::vector<interval> divide(interval all, int degree) {
        groups.children = degree;
        return divide(all, std::vector<hints>(static_cast<std::size_t>(degree)));
    }
    int socket(interval part) const { return allocator.home_of(part).socket; }
    bool straddles(interval part) const { return allocator.home_of(part).straddles; }

    data_allocator allocator;
    hints parents, groups;
};

TEST(policy_laws, the_book_s_task_of_a_third_to_a_half) {
    divided two(2);
    for (const interval part : {two.divide({0, 0.5}, 3)[2], two.divide({1.0 / 3, 2.0 / 3}, 2)[0]}) {
        EXPECT_NEAR(part.from, 1.0 / 3, 1e-12);
        EXPECT_NEAR(part.to, 0.5, 1e-12);
        EXPECT_EQ(two.socket(part), 0);
        EXPECT_FALSE(two.straddles(part));
        for (const interval below : two.divide(part, 7)) {
            EXPECT_EQ(two.socket(below), 0);
            EXPECT_FALSE(two.straddles(below));
        }
    }
}

TEST(policy_laws, thirds_of_two_sockets) {
    divided two(2);
    const auto thirds = two.divide({0, 1}, 3);
    EXPECT_FALSE(two.straddles(thirds[0]));
    EXPECT_TRUE(two.straddles(thirds[1]));
    EXPECT_FALSE(two.straddles(thirds[2]));
    EXPECT_EQ(two.socket(thirds[0]), 0);
    EXPECT_EQ(two.socket(thirds[1]), 0); // as much on either
    EXPECT_EQ(two.socket(thirds[2]), 1);
    const auto sixths = two.divide(thirds[1], 2);
    for (int i = 0; i < 2; ++i) {
        EXPECT_FALSE(two.straddles(sixths[static_cast<std::size_t>(i)]));
        EXPECT_EQ(two.socket(sixths[static_cast<std::size_t>(i)]), i);
    }
}

TEST(policy_laws, halves_of_halves_are_the_parts_of_four_sockets) {
    divided four(4);
    int next = 0;
    for (const interval half : four.divide({0, 1}, 2)) {
        EXPECT_TRUE(four.straddles(half));
        for (const interval quarter : four.divide(half, 2)) {
            EXPECT_FALSE(four.straddles(quarter));
            EXPECT_EQ(four.socket(quarter), next++);
        }
    }
}

TEST(policy_laws, hints_divide_unevenly) {
    divided two(2);
    two.groups = {.work = 4};
    auto parts = two.divide({0, 1}, {{.work = 3}, {.work = 1}});
    EXPECT_DOUBLE_EQ(parts[0].to, 0.75);
    EXPECT_DOUBLE_EQ(parts[1].from, 0.75);
    EXPECT_DOUBLE_EQ(parts[1].to, 1);
    two.groups = {.work = 4, .bytes = 100};
    parts = two.divide({0, 1}, {{.work = 3, .bytes = 10}, {.work = 1, .bytes = 90}});
    EXPECT_DOUBLE_EQ(parts[0].to, 0.1);
    const std::vector<char> data(100);
    two.parents = {.data_begin = data.data(), .data_end = data.data() + 100};
    parts = two.divide({0, 0.5}, {{.data_begin = data.data() + 50, .data_end = data.data() + 60},
                                  {.data_begin = data.data(), .data_end = data.data() + 50}});
    EXPECT_NEAR(parts[0].from, 0.25, 1e-12);
    EXPECT_NEAR(parts[0].to, 0.3, 1e-12);
    EXPECT_NEAR(parts[1].from, 0, 1e-12);
}

TEST(policy_laws, without_a_word_sockets_take_turns) {
    divided three(3);
    const auto parts = three.divide({0, 1}, std::vector<hints>(6));
    for (int i = 0; i < 6; ++i) {
        EXPECT_EQ(three.socket(parts[static_cast<std::size_t>(i)]), i % 3);
        EXPECT_FALSE(three.straddles(parts[static_cast<std::size_t>(i)]));
    }
    EXPECT_NEAR(three.divide({0, 0.3}, std::vector<hints>(1))[0].size(), 0.15, 1e-12);
}

TEST(policy_laws, wrong_hints_stay_inside) {
    divided two(2);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double work : {nan, -1.0, 1e300, 0.0})
        for (const double all : {nan, -3.0, 0.0, 1.0}) {
            two.groups = {.work = all, .children = -2};
            for (const interval part : two.divide({0.25, 1}, {{.work = work}, {.work = 1}, {.work = 1}})) {
                EXPECT_GE(part.from, 0.25);
                EXPECT_LE(part.to, 1);
                EXPECT_LE(part.from, part.to);
            }
        }
}

// ---- the partitioner

using tier = task_profile::tier;
constexpr std::uint64_t mega = 1000;

/// The example of the specification: a root with A (`A1`, `A2`) and B (`B1`, `B2`), misses in units of 64 bytes.
struct example {
    enum { root, a, b, a1, a2, b1, b2, count };
    explicit example(bool root_straddles = true) {
        profile.attach(64);
        const int parents[count] = {-1, root, root, a, a, b, b};
        const std::uint64_t misses[count] = {100, 100, 100, 4000, 3000, 2500, 3000};
        for (int n = 0; n < count; ++n) {
            const auto id = static_cast<std::uint64_t>(n + 1);
            EXPECT_EQ(profile.insert(id, parents[n], n == root && root_straddles, 0), n);
            EXPECT_EQ(profile.insert(id, parents[n], false, 0), n); // the same
            profile.add(n, misses[n], 0);
        }
        profile.sum();
    }
    std::set<int> roots() const {
        std::set<int> list;
        for (int n = 0; n < count; ++n)
            if (profile.tier_of(n) == tier::root) list.insert(n);
        return list;
    }
    task_profile profile;
    static constexpr double cache = 6.0 * mega * 64;
};

TEST(policy_laws, size_of_involved_data_and_initial_roots) {
    example e;
    EXPECT_DOUBLE_EQ(e.profile.bytes_of(example::a), 7.1 * mega * 64);
    EXPECT_DOUBLE_EQ(e.profile.bytes_of(example::b), 5.6 * mega * 64);
    EXPECT_DOUBLE_EQ(e.profile.bytes_of(example::root), 12.8 * mega * 64);
    e.profile.partition(example::cache);
    EXPECT_EQ(e.roots(), (std::set<int>{example::a1, example::a2, example::b}));
    EXPECT_EQ(e.profile.tier_of(example::root), tier::above);
    EXPECT_EQ(e.profile.tier_of(example::a), tier::above);
    EXPECT_EQ(e.profile.tier_of(example::b1), tier::inside);
    EXPECT_EQ(e.profile.tier_of(example::b2), tier::inside);
    EXPECT_EQ(e.profile.find(3), example::b);
    EXPECT_EQ(e.profile.find(99), -1);
    EXPECT_EQ(e.profile.find(0), -1);
}

TEST(policy_laws, exact_fit_everything_fits_and_a_leaf_that_does_not) {
    example e;
    e.profile.partition(e.profile.bytes_of(example::b));
    EXPECT_TRUE(e.roots().contains(example::b)); // exactly the cache's size
    e.profile.partition(1e12);
    EXPECT_EQ(e.roots(), (std::set<int>{example::a, example::b})); // the topmost that do not straddle
    e.profile.partition(1);
    EXPECT_EQ(e.roots(), (std::set<int>{example::a1, example::a2, example::b1, example::b2}));
    example whole(false);
    whole.profile.partition(1e12);
    EXPECT_EQ(whole.roots(), (std::set<int>{example::root}));
}

TEST(policy_laws, children_and_parents_of_roots) {
    example e;
    e.profile.partition(example::cache);
    EXPECT_TRUE(e.profile.to_children());
    EXPECT_EQ(e.roots(), (std::set<int>{example::a1, example::a2, example::b1, example::b2}));
    EXPECT_FALSE(e.profile.to_children());
    EXPECT_TRUE(e.profile.to_parents());
    EXPECT_EQ(e.roots(), (std::set<int>{example::a, example::b}));
    EXPECT_FALSE(e.profile.to_parents()); // the root straddles
    EXPECT_EQ(e.roots(), (std::set<int>{example::a, example::b}));
    e.profile.bring_back();
    EXPECT_EQ(e.roots(), (std::set<int>{example::a1, example::a2, example::b}));
}

TEST(policy_laws, where_misses_are_not_counted_declared_bytes_are_the_size) {
    task_profile p;
    p.attach(64);
    p.insert(1, -1, false, 1000);
    p.insert(2, 0, false, 400);
    p.insert(3, 0, false, 0);
    p.insert(4, 2, false, 300);
    p.sum();
    EXPECT_DOUBLE_EQ(p.bytes_of(0), 1000);
    EXPECT_DOUBLE_EQ(p.bytes_of(2), 300);
}

TEST(policy_laws, few_misses_an_instruction_are_computing) {
    example e;
    EXPECT_FALSE(e.profile.is_cpu_bound(0.5)); // no instructions were counted
    for (int n = 0; n < 4; ++n) e.profile.add(n, 0, 1'000'000);
    EXPECT_TRUE(e.profile.is_cpu_bound(0.001));
    EXPECT_FALSE(e.profile.is_cpu_bound(0.0001));
    EXPECT_FALSE(e.profile.is_cpu_bound(0));
}

/// The three that divide have no misses to speak of, and no instructions either.
TEST(policy_laws, tasks_that_only_divide_do_not_decide) {
    example e;
    for (const int n : {example::root, example::a, example::b}) e.profile.add(n, 0, 1'000'000);
    EXPECT_TRUE(e.profile.is_cpu_bound(0.001));
    for (const int n : {example::a1, example::a2, example::b1, example::b2}) e.profile.add(n, 0, 900'000);
    EXPECT_FALSE(e.profile.is_cpu_bound(0.001));
    EXPECT_TRUE(e.profile.is_cpu_bound(0.01));
}

TEST(policy_laws, half_of_the_instructions_are_not_most) {
    EXPECT_FALSE(computes_mostly(0, 0));
    EXPECT_FALSE(computes_mostly(1, 2));
    EXPECT_FALSE(computes_mostly(1, 3));
    EXPECT_TRUE(computes_mostly(2, 3));
    EXPECT_TRUE(computes_mostly(1, 1));
    EXPECT_FALSE(is_cpu_bound(1, 1000, 0.001)); // not below
    EXPECT_TRUE(is_cpu_bound(1, 1001, 0.001));
}

TEST(policy_laws, where_misses_are_not_counted_leaves_miss_what_they_declare) {
    for (const std::uint64_t bytes : {640U, 64'000U}) {
        task_profile p;
        p.attach(64);
        p.insert(1, -1, false, 2 * bytes);
        p.insert(2, 0, false, bytes);
        p.insert(3, 0, false, bytes);
        for (int n = 0; n < 3; ++n) p.add(n, 0, n == 0 ? 10 : 100'000);
        p.sum();
        EXPECT_EQ(p.is_cpu_bound(0.001), bytes == 640);
    }
}

TEST(policy_laws, a_full_profile_says_so) {
    task_profile p;
    p.attach(3);
    for (std::uint64_t id = 1; id <= 3; ++id) EXPECT_GE(p.insert(id, -1, false, 0), 0);
    EXPECT_EQ(p.insert(4, -1, false, 0), -1);
    EXPECT_EQ(p.insert(0, -1, false, 0), -1);
    EXPECT_EQ(p.size(), 3U);
    p.clear();
    EXPECT_EQ(p.find(1), -1);
    EXPECT_GE(p.insert(4, -1, false, 0), 0);
}

// ---- Algorithm 6

/// A path of tasks with two children each: roots in the middle can go four steps down and up.
struct path {
    path() {
        profile.attach(64);
        for (int n = 0; n < 9; ++n) profile.insert(static_cast<std::uint64_t>(n + 1), n - 1, n == 0, 0);
        profile.add(8, 1, 0);
        for (int n = 0; n < 8; ++n) profile.add(n, 1, 0);
        profile.sum(); // 9, 8, ... 1 lines
        profile.partition(5 * 64);
    }
    int root() const {
        for (int n = 0; n < 9; ++n)
            if (profile.tier_of(n) == tier::root) return n;
        return -1;
    }
    task_profile profile;
};

/// Where the search ends, as steps from the initial set (smaller is positive), and what it took.
std::pair<int, int> search(const std::vector<double>& times, double margin = 0) {
    path p;
    const int initial = p.root();
    packing_search s;
    s.begin(margin);
    std::size_t measured = 0;
    while (!s.over() && measured < times.size()) s.measured(p.profile, times[measured++]);
    EXPECT_TRUE(s.over());
    return {p.root() - initial, static_cast<int>(measured) - 1};
}

TEST(policy_laws, tuning_traces) {
    EXPECT_EQ(search({10, 9, 8.5, 9}), std::pair(2, 3));
    EXPECT_EQ(search({10, 11, 9.5, 9.7}), std::pair(-1, 3));
    EXPECT_EQ(search({10, 11, 12}), std::pair(0, 2));
    EXPECT_EQ(search({10, 10, 12}), std::pair(0, 2));       // equal is not better
    EXPECT_EQ(search({10, 9, 8, 7, 6}), std::pair(4, 4));   // to the leaves
    EXPECT_EQ(search({10, 11, 9, 8, 7}), std::pair(-3, 4)); // to the topmost that does not straddle
    EXPECT_EQ(search({10, 9.9, 12}, 0.05), std::pair(0, 2));
}

// ---- triple-level stealing: two sockets of two workers

class policy_laws_stealing : public testing::Test {
protected:
    void attach(const std::string& spec) {
        scheduler = make_policy(spec);
        need = scheduler->attach(on, context);
    }
    struct record { // with the policy's bytes behind
        task t;
        alignas(std::max_align_t) std::byte bytes[max_task_bytes]{};
    };
    struct group_record {
        group g;
        alignas(std::max_align_t) std::byte bytes[max_group_bytes]{};
        hints pair{.children = 2};
    };
    task& root() {
        task& t = records.emplace_back().t;
        t.id_ = 1;
        t.state_ = task_state::running;
        return t;
    }
    /// The children of a join, as the policy says; null where it says lazy.
    std::vector<task*> fork(worker_id w, task& parent) {
        group_record& in = groups.emplace_back();
        in.g.data_ = in.bytes;
        in.g.hint_ = &in.pair;
        std::vector<task*> children;
        for (const bool last : {false, true}) {
            task& t = records.emplace_back().t;
            t.parent_ = &parent;
            t.group_ = &in.g;
            t.last_ = last;
            t.level_ = parent.level_ + 1;
            t.id_ = parent.id_ * 2 + last;
            const spawn_order how = scheduler->spawn(w, parent, t);
            if (how == spawn_order::lazy) return {};
            EXPECT_EQ(how, spawn_order::parent_first);
            who.push_back(scheduler->ready(w, t, ready_reason::spawned).who);
            children.push_back(&t);
        }
        return children;
    }
    void run(worker_id w, task& t, std::uint64_t misses, std::uint64_t instructions = 0) {
        scheduler->started(w, t);
        usage used;
        used.misses = misses;
        if (instructions > 0) used.instructions = instructions;
        scheduler->finished(w, t, used);
    }
    task* next(worker_id w) { return scheduler->next(w, true).t; }

    /// The first iteration of a tree whose leaves have so many misses and instructions.
    using misses_of = std::function<std::uint64_t(const task& leaf)>;
    task& profiled(const misses_of& misses, std::uint64_t instructions = 0, int depth = 3) {
        task& r = root();
        scheduler->iteration(0, r, 0);
        const std::function<void(task&, int, worker_id)> divide = [&](task& t, int levels, worker_id near) {
            for (task* child : fork(0, t)) {
                const worker_id w = &t == &r ? (child->last_ ? 2 : 0) : near;
                EXPECT_NE(next(w), nullptr);
                if (levels > 1) divide(*child, levels - 1, w);
                run(0, *child, levels > 1 ? 0 : misses(*child), levels > 1 ? 0 : instructions);
            }
        };
        divide(r, depth, 0);
        return r;
    }
    task& profiled(std::uint64_t misses, std::uint64_t instructions = 0) {
        return profiled([=](const task&) { return misses; }, instructions);
    }
    /// What the children of the children of `half` are, in serial order: the head has divided all above.
    std::vector<task*> grandchildren(worker_id head, task& half) {
        std::vector<task*> list;
        for (task* quarter : fork(head, half)) {
            EXPECT_NE(next(head), nullptr);
            for (task* t : fork(head, *quarter)) list.push_back(t);
        }
        return list;
    }

    const machine on = load_synthetic("pack:2 [numa] l3:1(size=64000) core:2 pu:1");
    test::fake_context context{4};
    std::unique_ptr<policy> scheduler;
    requirements need;
    std::deque<record> records;
    std::deque<group_record> groups;
    std::vector<workers> who;
};

TEST_F(policy_laws_stealing, before_the_first_iteration_everything_is_silent) {
    attach("laws");
    EXPECT_FALSE(need.lazy);
    EXPECT_TRUE(need.own_misses);
    EXPECT_TRUE(fork(0, root()).empty());
    EXPECT_EQ(scheduler->victims(0).size(), 4);
}

// L1 of policy/laws.cpp.
TEST_F(policy_laws_stealing, the_first_iteration_stays_on_its_sockets) {
    attach("laws");
    task& r = root();
    scheduler->iteration(0, r, 0);
    const auto half = fork(0, r);
    ASSERT_EQ(half.size(), 2U);
    EXPECT_EQ(who[0].first, 0);
    EXPECT_EQ(who[0].last, 2);
    EXPECT_EQ(who[1].first, 2);
    EXPECT_EQ(who[1].last, 4);
    EXPECT_EQ(scheduler->victims(3).first, 2);
    const auto quarter = fork(0, *half[0]); // on worker 0, which may run it
    EXPECT_EQ(next(3), half[1]);
    EXPECT_EQ(next(2), nullptr); // no steal from the other socket, however much there is
    EXPECT_EQ(next(3), nullptr);
    EXPECT_EQ(next(1), quarter[1]); // any worker of the socket; the youngest
    EXPECT_EQ(next(0), quarter[0]);
    EXPECT_EQ(next(1), half[0]);
}

// L2 to L4 of policy/laws.cpp.
TEST_F(policy_laws_stealing, heads_take_subtrees_one_after_the_other) {
    attach("laws:cache=64,tune=off"); // a quarter fits, a half does not
    task& r = profiled(400);
    scheduler->iteration(0, r, 1);
    who.clear();
    const auto half = fork(0, r); // above
    EXPECT_EQ(who[0].first, 0);
    EXPECT_EQ(who[0].size(), 1); // the head
    EXPECT_EQ(who[1].first, 2);
    EXPECT_EQ(next(1), nullptr);
    EXPECT_EQ(next(0), half[0]);
    const auto first = fork(0, *half[0]);
    EXPECT_EQ(next(1), nullptr);             // no head
    EXPECT_EQ(next(0), first[1]);            // the youngest
    EXPECT_TRUE(fork(0, *first[1]).empty()); // silent below
    EXPECT_EQ(next(1), nullptr);
    // A frame of the subtree comes to the other worker of the socket, and only to it.
    records.push_back(records[0]);
    record& frame = records.back();
    frame = {};
    std::copy(std::begin(reinterpret_cast<record*>(first[1])->bytes),
              std::end(reinterpret_cast<record*>(first[1])->bytes), std::begin(frame.bytes));
    EXPECT_EQ(scheduler->ready(1, frame.t, ready_reason::exposed).who.last, 2);
    EXPECT_EQ(next(2), half[1]);
    const auto second = fork(2, *half[1]);
    EXPECT_EQ(next(3), nullptr);
    EXPECT_EQ(next(1), &frame.t);
    run(0, *first[1], 0);
    EXPECT_EQ(next(0), nullptr); // worker 1 is still in the subtree
    EXPECT_EQ(next(2), second[1]);
    context.woken.clear();
    EXPECT_EQ(next(1), nullptr);
    ASSERT_EQ(context.woken.size(), 1U); // it was the last: the head looks again
    EXPECT_EQ(context.woken[0].first, 0);
    EXPECT_EQ(context.woken[0].size(), 1);
    EXPECT_EQ(next(0), first[0]);
    EXPECT_EQ(next(0), second[0]); // of the other socket
    EXPECT_EQ(next(2), nullptr);
}

/// Eq. 3.5: 262144 bytes, halved twice, are as much as the cache holds.
TEST_F(policy_laws_stealing, without_iterations_a_given_size_is_packed) {
    attach("laws:cache=64,bytes=262144");
    task& r = root();
    const auto half = fork(0, r); // above
    ASSERT_EQ(half.size(), 2U);
    EXPECT_EQ(scheduler->victims(0).size(), 2);
    EXPECT_EQ(next(1), nullptr);
    EXPECT_EQ(next(0), half[0]);
    const auto quarter = fork(0, *half[0]);
    ASSERT_EQ(quarter.size(), 2U);
    EXPECT_EQ(next(1), nullptr); // no head
    EXPECT_EQ(next(0), quarter[1]);
    EXPECT_TRUE(fork(0, *quarter[1]).empty()); // silent below
    EXPECT_EQ(next(2), half[1]);
    run(0, *quarter[1], 0);
    EXPECT_EQ(next(0), quarter[0]);
    run(0, r, 0);
    EXPECT_EQ(scheduler->victims(0).size(), 4);
    attach("laws:cache=64,bytes=262145");
    task& larger = root();
    const auto above = fork(0, *fork(0, larger)[0]);
    ASSERT_EQ(above.size(), 2U);
    EXPECT_EQ(fork(0, *above[0]).size(), 2U);
}

TEST_F(policy_laws_stealing, iterations_are_packed_by_what_they_miss_whatever_size_is_given) {
    attach("laws:cache=64,tune=off,bytes=100000000");
    task& r = root();
    EXPECT_EQ(fork(0, r).size(), 2U);
    scheduler->iteration(0, r, 0);
    EXPECT_EQ(scheduler->victims(0).size(), 2);
    run(0, r, 0);
    EXPECT_EQ(scheduler->victims(0).size(), 4);
    task& measured = profiled(400);
    scheduler->iteration(0, measured, 1);
    const auto half = fork(0, measured);
    const auto quarter = fork(0, *half[0]);
    ASSERT_EQ(quarter.size(), 2U);
    EXPECT_TRUE(fork(0, *quarter[0]).empty());
}

// L5 of policy/laws.cpp.
TEST_F(policy_laws_stealing, a_socket_that_has_not_begun_takes_no_subtree) {
    attach("laws:cache=64,tune=off,order=oldest");
    task& r = profiled(400);
    scheduler->iteration(0, r, 1);
    const auto half = fork(0, r);
    EXPECT_EQ(next(0), half[0]);
    const auto quarter = fork(0, *half[0]);
    EXPECT_EQ(next(2), half[1]); // above: no data
    EXPECT_EQ(next(2), nullptr);
    EXPECT_EQ(next(0), quarter[0]);
    const auto other = fork(2, *half[1]);
    EXPECT_EQ(next(2), other[0]);
    EXPECT_EQ(next(2), other[1]);
    EXPECT_EQ(next(2), quarter[1]);
}

// L5 of policy/laws.cpp: in the second pass, too, no socket takes the other's half while its own is being divided.
TEST_F(policy_laws_stealing, a_socket_waits_for_its_own_in_each_pass_of_an_iteration) {
    attach("laws:cache=64,tune=off,order=oldest");
    task& r = profiled(400);
    for (int k = 1; k < 4; ++k) {
        scheduler->iteration(0, r, k);
        for (int pass = 0; pass < 2; ++pass) {
            SCOPED_TRACE(testing::Message() << "iteration " << k << ", pass " << pass);
            const auto half = fork(0, r);
            EXPECT_EQ(next(0), half[0]);
            const auto quarter = fork(0, *half[0]);
            EXPECT_EQ(next(2), half[1]); // above: no data
            EXPECT_EQ(next(2), nullptr);
            const auto other = fork(2, *half[1]);
            for (task* t : quarter) EXPECT_EQ(next(0), t);
            for (task* t : other) EXPECT_EQ(next(2), t);
            EXPECT_EQ(next(0), nullptr);
            EXPECT_EQ(next(2), nullptr);
        }
    }
}

// L7 of policy/laws.cpp.
TEST_F(policy_laws_stealing, the_next_subtree_of_a_socket_is_left_to_it) {
    attach("laws:cache=64,tune=off,keep=on,order=near");
    task& r = profiled(400);
    for (const bool alone : {false, true}) {
        scheduler->iteration(0, r, 1);
        const auto half = fork(0, r);
        EXPECT_EQ(next(0), half[0]);
        EXPECT_EQ(next(2), half[1]);
        const auto quarter = fork(0, *half[0]); // far from its data a subtree takes twice as long
        const auto other = fork(2, *half[1]);
        EXPECT_EQ(next(2), other[0]);
        EXPECT_EQ(next(2), other[1]);
        if (alone) { EXPECT_EQ(next(0), quarter[0]); }
        int looks = 0;
        task* got = nullptr;
        while (got == nullptr && ++looks < 10'000) got = scheduler->next(2, false).t;
        EXPECT_EQ(got, quarter[1]);
        if (alone) {
            EXPECT_GT(looks, 1000); // in the end it is taken
        } else {
            EXPECT_LT(looks, 20);
        }
        while (next(0) != nullptr) {}
        EXPECT_EQ(next(2), nullptr);
    }
}

// L8 of policy/laws.cpp.
TEST_F(policy_laws_stealing, sweeps_over_the_data_alternate) {
    attach("laws:cache=32,tune=off,order=near"); // a leaf fits, a quarter does not
    task& r = profiled(400);
    for (int sweep = 1; sweep < 5; ++sweep) {
        scheduler->iteration(0, r, sweep);
        const auto half = fork(0, r);
        EXPECT_EQ(next(2), half[1]);
        EXPECT_EQ(next(0), half[0]);
        std::vector<task*> leaves = grandchildren(0, *half[0]);
        if (sweep % 2 == 0) std::ranges::reverse(leaves);
        for (task* leaf : leaves) {
            EXPECT_EQ(next(0), leaf) << sweep;
            run(0, *leaf, 0);
        }
    }
}

TEST_F(policy_laws_stealing, others_take_the_subtree_whose_turn_comes_last) {
    attach("laws:cache=32,tune=off,order=near");
    task& r = profiled(400);
    for (int sweep = 1; sweep < 3; ++sweep) {
        scheduler->iteration(0, r, sweep);
        const auto half = fork(0, r);
        EXPECT_EQ(next(2), half[1]);
        EXPECT_EQ(next(0), half[0]);
        const std::vector<task*> leaves = grandchildren(0, *half[0]);
        for (task* leaf : grandchildren(2, *half[1])) {
            EXPECT_NE(next(2), nullptr);
            run(2, *leaf, 0);
        }
        if (sweep == 1) { // from the first one on; so the next sweep begins with the third one
            EXPECT_EQ(next(0), leaves[0]);
            EXPECT_EQ(next(2), leaves[3]);
            EXPECT_EQ(next(0), leaves[1]);
            EXPECT_EQ(next(0), leaves[2]);
        } else {
            EXPECT_EQ(next(2), leaves[0]);
            EXPECT_EQ(next(0), leaves[2]);
        }
        while (next(0) != nullptr) {}
    }
}

TEST_F(policy_laws_stealing, a_subtree_that_is_much_of_what_waits_comes_first) {
    attach("laws:cache=48,tune=off,order=near"); // the first quarter does not fit, the second one does
    task& r = profiled([](const task& leaf) { return leaf.parent_->last_ ? 100 : 400; });
    scheduler->iteration(0, r, 1);
    const auto half = fork(0, r);
    EXPECT_EQ(next(0), half[0]);
    const auto quarter = fork(0, *half[0]);
    EXPECT_EQ(next(0), quarter[0]); // above, so before its like
    const auto leaf = fork(0, *quarter[0]);
    ASSERT_EQ(leaf.size(), 2U);
    for (task* t : {quarter[1], leaf[1], leaf[0]}) {
        EXPECT_EQ(next(0), t); // the leaves' data are nearer to where the socket begins
        run(0, *t, 0);
    }
}

TEST_F(policy_laws_stealing, among_many_subtrees_the_nearest_comes_first_though_others_are_larger) {
    attach("laws:cache=32,tune=off,order=near");
    // Of each half the last eighth fits, of the others their halves only.
    task& r = profiled([](const task& leaf) { return leaf.parent_->id_ % 4 == 3 ? 100 : 400; }, 0, 4);
    scheduler->iteration(0, r, 1);
    const auto half = fork(0, r);
    EXPECT_EQ(next(0), half[0]);
    const auto eighth = grandchildren(0, *half[0]);
    EXPECT_EQ(next(0), eighth[0]);
    const auto sixteenth = fork(0, *eighth[0]);
    ASSERT_EQ(sixteenth.size(), 2U);
    EXPECT_EQ(next(0), sixteenth[0]); // none of the other eighths is more than a quarter of what waits
    EXPECT_TRUE(fork(0, *eighth[3]).empty());
}

TEST_F(policy_laws_stealing, tuning_begins_with_the_second_packed_iteration) {
    attach("laws:cache=64");
    task& r = profiled(400);
    for (const bool quarters_are_packed : {true, true, false}) {
        scheduler->iteration(0, r, 1);
        context.time += 1000;
        const auto half = fork(0, r);
        EXPECT_EQ(next(2), half[1]);
        EXPECT_EQ(next(0), half[0]);
        for (task* quarter : fork(0, *half[0])) {
            EXPECT_NE(next(0), nullptr);
            const auto leaves = fork(0, *quarter);
            EXPECT_EQ(leaves.empty(), quarters_are_packed);
            for (task* leaf : leaves) {
                EXPECT_NE(next(0), nullptr);
                run(0, *leaf, 0);
            }
            run(0, *quarter, 0);
        }
        run(0, *half[0], 0);
    }
}

TEST_F(policy_laws_stealing, a_blocked_subtree_does_not_stop_its_socket) {
    attach("laws:cache=64,tune=off");
    task& r = profiled(400);
    scheduler->iteration(0, r, 1);
    const auto half = fork(0, r);
    EXPECT_EQ(next(0), half[0]);
    const auto quarter = fork(0, *half[0]);
    EXPECT_EQ(next(0), quarter[1]);
    quarter[1]->state_ = task_state::suspended; // waits for a lock, say
    EXPECT_EQ(next(0), quarter[0]);
    const placement back =
        scheduler->ready(3, *quarter[1], ready_reason::unblocked); // let go by the other socket
    EXPECT_EQ(back.who.first, 0);
    EXPECT_EQ(back.who.last, 2);
    EXPECT_EQ(next(2), half[1]);
    EXPECT_EQ(next(3), nullptr);
    EXPECT_EQ(next(1), quarter[1]);
}

TEST_F(policy_laws_stealing, yields_let_the_head_take_the_next_subtree) {
    attach("laws:cache=64,tune=off");
    task& r = profiled(400);
    scheduler->iteration(0, r, 1);
    const auto half = fork(0, r);
    EXPECT_EQ(next(0), half[0]);
    const auto quarter = fork(0, *half[0]);
    EXPECT_EQ(next(0), quarter[1]);
    int turns = 0;
    for (task* t = quarter[1]; t == quarter[1]; t = next(0), ++turns) {
        ASSERT_LT(turns, 100);
        t->state_ = task_state::suspended;
        scheduler->ready(0, *t, ready_reason::yielded);
    }
    EXPECT_GE(turns, 16);
}

/// 4.10.5: "traditional work-stealing", from the second iteration to the last.
TEST_F(policy_laws_stealing, a_cpu_bound_program_is_stolen_at_random) {
    attach("laws:cache=64");
    task& r = profiled(1, 2000);
    EXPECT_EQ(scheduler->victims(3).size(), 2);
    context.woken.clear();
    for (int k = 1; k < 4; ++k) {
        scheduler->iteration(0, r, k);
        EXPECT_TRUE(fork(0, r).empty()); // silent
        EXPECT_EQ(scheduler->victims(0).size(), 4);
        EXPECT_EQ(scheduler->victims(3).size(), 4);
    }
    ASSERT_EQ(context.woken.size(), 1U); // a sleeper is told of its new victims, once
    EXPECT_EQ(context.woken[0].size(), 4);
    // A frame of the root stays with the worker that took it, and any worker may steal it.
    record& frame = records.emplace_back();
    std::copy(std::begin(reinterpret_cast<record*>(&r)->bytes),
              std::end(reinterpret_cast<record*>(&r)->bytes), std::begin(frame.bytes));
    EXPECT_EQ(scheduler->ready(3, frame.t, ready_reason::exposed).who.size(), 4);
    EXPECT_EQ(next(0), &frame.t);
    // The next program is measured again.
    run(0, frame.t, 0);
    run(0, r, 0);
    task& another = profiled(400, 2000);
    scheduler->iteration(0, another, 1);
    EXPECT_EQ(fork(0, another).size(), 2U);
    EXPECT_EQ(scheduler->victims(3).size(), 2);
}

TEST_F(policy_laws_stealing, a_memory_bound_program_is_packed) {
    for (const auto& [spec, misses, instructions] :
         std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>>{
             {"laws:cache=64,tune=off", 2, 2000}, // at the threshold
             {"laws:cache=64,tune=off,cmpi=0", 1, 2000},
             {"laws:cache=64,tune=off", 1, 0}}) { // its instructions are unknown
        attach(spec);
        task& r = profiled(misses, instructions);
        scheduler->iteration(0, r, 1);
        EXPECT_EQ(fork(0, r).size(), 2U) << spec;
        EXPECT_EQ(scheduler->victims(3).size(), 2) << spec;
    }
}

TEST_F(policy_laws_stealing, without_packing_single_tasks_cross) {
    attach("laws-nc");
    EXPECT_FALSE(need.own_misses);
    task& r = root();
    scheduler->iteration(0, r, 0);
    auto half = fork(0, r);
    auto quarter = fork(0, *half[0]);
    EXPECT_EQ(next(2), half[1]);
    EXPECT_EQ(next(3), nullptr);
    for (int i = 0; i < 3; ++i) EXPECT_NE(next(1), nullptr);
    scheduler->iteration(0, r, 1);
    half = fork(0, r);
    quarter = fork(0, *half[0]);
    EXPECT_EQ(next(2), half[1]);
    EXPECT_EQ(next(3), half[0]); // the oldest of the other socket
    EXPECT_EQ(next(0), quarter[1]);
}

TEST_F(policy_laws_stealing, without_packing_small_tasks_are_silent_on_request_only) {
    for (const int pieces : {0, 1}) {
        attach("laws-nc:pieces=" + std::to_string(pieces)); // 1: what is at most a worker's part
        task& r = root();
        scheduler->iteration(0, r, 0);
        const auto half = fork(0, r);
        const auto quarter = fork(0, *half[0]);
        ASSERT_EQ(quarter.size(), 2U);
        EXPECT_EQ(fork(0, *quarter[0]).empty(), pieces == 1);
    }
}

// 4.7: the independent initialisation phase.
TEST_F(policy_laws_stealing, a_declared_initialisation_stays_on_its_sockets) {
    for (const char* spec : {"laws", "laws-nc"}) {
        attach(spec);
        task& r = root();
        scheduler->iteration(0, r, -1);
        EXPECT_EQ(scheduler->victims(3).size(), 2);
        const auto half = fork(0, r);
        ASSERT_EQ(half.size(), 2U);
        const auto quarter = fork(0, *half[0]);
        ASSERT_EQ(fork(0, *quarter[0]).size(), 2U);
        EXPECT_EQ(next(3), half[1]);
        EXPECT_EQ(next(2), nullptr) << "no steal from the other socket";
        while (next(1) != nullptr) {}
        run(0, r, 0);
        EXPECT_EQ(scheduler->victims(3).size(), 4);
    }
}

TEST_F(policy_laws_stealing, a_root_that_declares_nothing_is_stolen_at_random_wherever_its_data_lie) {
    attach("laws");
    task& r = root();
    task& child = records.emplace_back().t;
    group_record& in = groups.emplace_back();
    in.g.data_ = in.bytes;
    in.g.hint_ = &in.pair;
    child.parent_ = &r;
    child.group_ = &in.g;
    child.hint_.data_begin = in.bytes;
    child.hint_.data_end = in.bytes + sizeof in.bytes;
    EXPECT_EQ(scheduler->spawn(0, r, child), spawn_order::lazy);
    EXPECT_EQ(scheduler->victims(3).size(), 4);
}

TEST_F(policy_laws_stealing, a_program_may_be_iterated_after_its_initialisation_in_one_root) {
    attach("laws");
    task& r = root();
    scheduler->iteration(0, r, -1);
    while (next(0) != nullptr) {}
    scheduler->iteration(0, r, 0);
    EXPECT_EQ(fork(0, r).size(), 2U);
    run(0, r, 0);
    EXPECT_EQ(scheduler->victims(3).size(), 4);
}

TEST_F(policy_laws_stealing, a_program_that_ends_makes_room_for_another) {
    attach("laws");
    task &one = root(), &two = root();
    scheduler->iteration(0, one, 0);
    scheduler->iteration(0, two, 0);
    EXPECT_TRUE(fork(0, two).empty());
    run(0, one, 0);
    scheduler->iteration(0, two, 1);
    EXPECT_EQ(fork(0, two).size(), 2U);
}

} // namespace
} // namespace weft
