// The orders in which one worker runs a tree of tasks. The tree is the worked example of Chen & Guo 2017,
// 3.2.1: t0 spawns t1; t1 spawns t2 and t3; t2 spawns t4 and t5; t3 spawns t6 and t7.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/support.hpp"

namespace weft {
namespace {

std::vector<int> children_of(int t) {
    if (t == 0) return {1};
    if (t <= 3) return {2 * t, 2 * t + 1};
    return {};
}

/// A task writes its name when it begins, spawns its children, and waits for them.
struct by_groups {
    static void run(int t, std::string& seen) {
        seen += "t" + std::to_string(t) + " ";
        task_group g;
        for (const int c : children_of(t)) g.run([c, &seen] { run(c, seen); });
        g.wait();
    }
};

struct by_joins {
    static void run(int t, std::string& seen) {
        seen += "t" + std::to_string(t) + " ";
        const auto children = children_of(t);
        if (children.size() == 1) join([&] { run(children[0], seen); }, [] {});
        if (children.size() == 2) join([&] { run(children[0], seen); }, [&] { run(children[1], seen); });
    }
};

struct by_contexts {
    static void run(context ctx, int t, std::string& seen) {
        seen += "t" + std::to_string(t) + " ";
        const auto children = children_of(t);
        if (children.size() == 1) join(ctx, [&](context c) { run(c, children[0], seen); }, [] {});
        if (children.size() == 2)
            join(
                ctx, [&](context c) { run(c, children[0], seen); },
                [&](context c) { run(c, children[1], seen); });
    }
};

template <class Form>
std::string order_under(const std::string& policy) {
    runtime rt(test::setup{policy, 1}.options());
    std::string seen;
    rt.run([&] { Form::run(0, seen); });
    return seen;
}

std::string order_with_contexts_under(const std::string& policy) {
    runtime rt(test::setup{policy, 1}.options());
    std::string seen;
    rt.run([&](context ctx) { by_contexts::run(ctx, 0, seen); });
    return seen;
}

constexpr const char* depth_first = "t0 t1 t2 t4 t5 t3 t6 t7 ";
constexpr const char* breadth_first = "t0 t1 t2 t3 t4 t5 t6 t7 ";
constexpr const char* youngest_first = "t0 t1 t3 t7 t6 t2 t5 t4 ";

class depth_first_order : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(all, depth_first_order,
                         testing::Values("serial", "steal", "steal:zone=reported", "near"),
                         [](const auto& of) { return "policy_" + std::to_string(of.index); });

TEST_P(depth_first_order, by_joins) { EXPECT_EQ(order_under<by_joins>(GetParam()), depth_first); }
TEST_P(depth_first_order, by_groups) { EXPECT_EQ(order_under<by_groups>(GetParam()), depth_first); }
TEST_P(depth_first_order, by_joins_with_contexts) {
    EXPECT_EQ(order_with_contexts_under(GetParam()), depth_first);
}

TEST(order, serial_is_the_plain_order_for_any_number_of_workers) {
    for (int workers = 1; workers <= 4; ++workers) {
        runtime rt(test::setup{"serial", workers}.options());
        for (int repeat = 0; repeat < 20; ++repeat) {
            std::string seen;
            rt.run([&] { by_groups::run(0, seen); });
            ASSERT_EQ(seen, depth_first);
            seen.clear();
            rt.run([&] { by_joins::run(0, seen); });
            ASSERT_EQ(seen, depth_first);
        }
    }
}

TEST(order, parent_first_with_a_queue_is_breadth_first) {
    EXPECT_EQ(order_under<by_groups>("steal-parent-first:order=fifo"), breadth_first);
    EXPECT_EQ(order_under<by_groups>("share"), breadth_first);
    EXPECT_EQ(order_under<by_groups>("share:order=fifo"), breadth_first);
}

TEST(order, parent_first_with_a_stack_takes_the_youngest) {
    EXPECT_EQ(order_under<by_groups>("steal-parent-first"), youngest_first);
    EXPECT_EQ(order_under<by_groups>("steal-parent-first:order=lifo"), youngest_first);
    EXPECT_EQ(order_under<by_groups>("share:order=lifo"), youngest_first);
}

// The program of the example again and again in one runtime: nothing of a run is left over for the next one.
TEST(order, is_the_same_in_every_run) {
    for (const auto& policy : test::policies_of_suite) {
        SCOPED_TRACE(policy);
        runtime rt(test::setup{policy, 1}.options());
        std::string first;
        rt.run([&] { by_groups::run(0, first); });
        for (int repeat = 0; repeat < 20; ++repeat) {
            std::string seen;
            rt.run([&] { by_groups::run(0, seen); });
            ASSERT_EQ(seen, first);
        }
    }
}

// The second half of a join under a policy that queues both: youngest first it comes before the first one.
TEST(order, joins_are_two_tasks_for_a_policy_that_sees_them) {
    EXPECT_EQ(order_under<by_joins>("steal-parent-first:order=fifo"), breadth_first);
    EXPECT_EQ(order_under<by_joins>("steal-parent-first"), youngest_first);
}

TEST(order, the_parent_goes_on_before_its_children_under_parent_first_only) {
    const auto order = [](const std::string& policy) {
        runtime rt(test::setup{policy, 1}.options());
        std::string seen;
        rt.run([&] {
            task_group g;
            for (const char* c : {"a", "b", "c"}) g.run([&seen, c] { seen += c; });
            seen += "|";
            g.wait();
        });
        return seen;
    };
    EXPECT_EQ(order("serial"), "abc|");
    EXPECT_EQ(order("steal"), "abc|");
    EXPECT_EQ(order("steal:zone=reported"), "abc|");
    EXPECT_EQ(order("near"), "abc|");
    EXPECT_EQ(order("steal-parent-first"), "|cba");
    EXPECT_EQ(order("steal-parent-first:order=fifo"), "|abc");
    EXPECT_EQ(order("share"), "|abc");
}

} // namespace
} // namespace weft
