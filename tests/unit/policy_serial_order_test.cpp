// The policies that keep to the order of a serial run, without an engine.
#include "policy/on_sockets.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft {
namespace {

using driven = test::on_sockets;

// ---- pdf

/// I1 of src/policy/pdf.cpp. A tree that is spawned on several workers in turn: what each next() gives is the
/// first in serial order of what is ready.
TEST(policy_pdf, a_free_worker_gets_what_a_serial_run_comes_to_first) {
    driven p("pdf", 1, 4);
    task& root = p.add(0, ready_reason::root);
    ASSERT_EQ(p->next(0, false).t, &root);
    task &a = p.child_of(root), &b = p.child_of(root), &aa = p.child_of(a), &ba = p.child_of(b);
    EXPECT_EQ(p->spawn(0, root, a), spawn_order::child_first);
    p->ready(0, root, ready_reason::continuation);
    EXPECT_EQ(p->spawn(0, a, aa), spawn_order::child_first);
    p->ready(0, a, ready_reason::continuation);
    EXPECT_EQ(p->next(1, false).t, &a); // before the rest of the root
    EXPECT_EQ(p->next(2, false).t, &root);
    EXPECT_EQ(p->spawn(2, root, b), spawn_order::child_first);
    p->ready(2, root, ready_reason::continuation);
    EXPECT_EQ(p->spawn(2, b, ba), spawn_order::child_first);
    p->ready(2, b, ready_reason::continuation);
    p->ready(1, a, ready_reason::joined);
    p->ready(0, aa, ready_reason::unblocked);
    p->ready(2, ba, ready_reason::unblocked);
    for (task* const expected : {&aa, &a, &ba, &b, &root}) EXPECT_EQ(p->next(3, false).t, expected);
}

TEST(policy_pdf, tasks_of_graphs_go_by_their_numbers) {
    driven p("pdf", 1, 2);
    std::vector<task*> tasks;
    for (const std::uint32_t number : {2U, 0U, 3U, 1U}) {
        task& t = p.make();
        t.graph_ = 7;
        t.graph_number_ = number;
        p->ready(0, t, ready_reason::released);
        tasks.push_back(&t);
    }
    for (const std::size_t i : {1U, 3U, 0U, 2U}) EXPECT_EQ(p->next(1, false).t, tasks[i]);
}

/// I1 and I2 of src/policy/parts/serial_order.hpp: enough children in front of each other that tags run out
/// many times.
TEST(policy_pdf, the_order_stays_right_where_there_is_no_room_left) {
    driven p("pdf", 1, 1);
    task& root = p.add(0, ready_reason::root);
    ASSERT_EQ(p->next(0, false).t, &root);
    std::vector<task*> in_order; // children of the root, then chains of first children in front of them
    for (int i = 0; i < 3000; ++i) {
        in_order.push_back(&p.child_of(root));
        p->spawn(0, root, *in_order.back());
    }
    std::vector<task*> all;
    for (std::size_t i = 0; i < in_order.size(); ++i) {
        std::vector<task*> chain{in_order[i]};
        for (std::size_t k = 0; k < (i % 500 == 0 ? 300 : i % 3); ++k) {
            chain.push_back(&p.child_of(*chain.back()));
            p->spawn(0, *chain[k], *chain.back());
        }
        all.insert(all.end(), chain.rbegin(), chain.rend());
    }
    std::vector<task*> shuffled = all;
    std::uint32_t drawn = 1;
    for (std::size_t i = shuffled.size(); i > 1; --i) {
        drawn = drawn * 1664525U + 1013904223U;
        std::swap(shuffled[i - 1], shuffled[(std::uint64_t{drawn} * i) >> 32U]);
    }
    for (task* const t : shuffled) p->ready(0, *t, ready_reason::unblocked);
    for (task* const expected : all) ASSERT_EQ(p->next(0, false).t, expected);
    for (std::size_t i = 0; i < shuffled.size(); i += 2) p->finished(0, *shuffled[i], {}); // and some leave
    for (std::size_t i = 1; i < shuffled.size(); i += 2) p->ready(0, *shuffled[i], ready_reason::unblocked);
    std::size_t left = 0;
    while (task* const t = p->next(0, false).t) {
        while (all[left] != t) ASSERT_LT(++left, all.size());
    }
}

// ---- cpdf: an L2 of 1000 bytes and an L1 of 100

struct controlled : driven {
    explicit controlled(int cores = 4) : driven("cpdf:l2=1000,l1=100", 1, cores) {}

    /// `w` is running `parent`, which spawns a child of that size.
    task& spawns(worker_id w, task& parent, std::size_t bytes, spawn_order expected) {
        task& child = child_of(parent, bytes);
        EXPECT_EQ(scheduler->spawn(w, parent, child), expected);
        if (expected == spawn_order::child_first) {
            parent.state_ = task_state::suspended;
            scheduler->ready(w, parent, ready_reason::continuation);
        } else if (expected == spawn_order::parent_first) {
            scheduler->ready(w, child, ready_reason::spawned);
        }
        return child;
    }
    task& root_of(std::size_t bytes) {
        task& t = make();
        t.hint_.bytes = bytes;
        scheduler->ready(0, t, ready_reason::root);
        return t;
    }
    void ends(worker_id w, task& t) { scheduler->finished(w, t, {}); }
};

/// I1 of src/policy/cpdf.cpp.
TEST(policy_cpdf, supernodes_of_the_shared_cache_run_one_after_another) {
    controlled p;
    task& root = p.root_of(4000);
    ASSERT_EQ(p->next(0, false).t, &root);
    EXPECT_EQ(p->next(1, true).t, nullptr);
    task& half = p.spawns(0, root, 2000, spawn_order::child_first);
    EXPECT_EQ(p->next(1, true).t, nullptr); // the rest of the root: one above at a time
    task& first = p.spawns(0, half, 1000, spawn_order::child_first);
    EXPECT_EQ(p->next(1, true).t, nullptr);
    // Inside, all run beside each other.
    task& quarter = p.spawns(0, first, 500, spawn_order::child_first);
    EXPECT_EQ(p->next(1, false).t, &first);
    task& other = p.spawns(1, first, 500, spawn_order::child_first);
    EXPECT_EQ(p->next(2, false).t, &first);
    EXPECT_EQ(p->next(3, true).t, nullptr);
    p->blocked(2, first, ready_reason::joined);
    p.ends(0, quarter);
    EXPECT_EQ(p->next(0, true).t, nullptr);
    p.ends(1, other);
    p->ready(1, first, ready_reason::joined);
    EXPECT_EQ(p->next(3, false).t, &first);
    p.context.woken.clear();
    p.ends(3, first);
    EXPECT_FALSE(p.context.woken.empty());
    EXPECT_EQ(p->next(2, false).t, &half); // it is the turn of this one, not of the root
    EXPECT_EQ(p->next(3, true).t, nullptr);
    p.spawns(2, half, 600, spawn_order::child_first);
    EXPECT_EQ(p->next(3, true).t, nullptr);
}

/// I4 of src/policy/cpdf.cpp.
TEST(policy_cpdf, supernodes_of_a_private_cache_stay_on_one_worker) {
    controlled p;
    task& root = p.root_of(800);
    ASSERT_EQ(p->next(0, false).t, &root);
    task& small = p.spawns(0, root, 100, spawn_order::child_first);
    EXPECT_EQ(p->next(1, false).t, &root);
    task& other = p.spawns(1, root, 50, spawn_order::child_first);
    EXPECT_EQ(p->next(2, false).t, &root);
    p.spawns(0, small, 50, spawn_order::lazy);
    p.spawns(1, other, 0, spawn_order::lazy);
    EXPECT_TRUE(p->victims(3).empty());
    EXPECT_FALSE(p->next(3, true).ask);
}

TEST(policy_cpdf, without_sizes_it_is_parallel_depth_first) {
    controlled p;
    task& root = p.root_of(0);
    ASSERT_EQ(p->next(0, false).t, &root);
    task& a = p.spawns(0, root, 0, spawn_order::child_first);
    EXPECT_EQ(p->next(1, false).t, &root);
    p.spawns(0, a, 0, spawn_order::child_first);
    EXPECT_EQ(p->next(2, false).t, &a);
}

TEST(policy_cpdf, a_task_without_a_size_is_what_its_parent_is) {
    controlled p;
    task& root = p.root_of(4000);
    ASSERT_EQ(p->next(0, false).t, &root);
    task& above = p.spawns(0, root, 0, spawn_order::child_first);
    EXPECT_EQ(p->next(1, true).t, nullptr);
    task& top = p.spawns(0, above, 900, spawn_order::child_first);
    p.spawns(0, top, 0, spawn_order::child_first);
    EXPECT_EQ(p->next(1, false).t, &top);
    EXPECT_EQ(p->next(2, true).t, nullptr);
}

/// I2 and I3 of src/policy/cpdf.cpp.
TEST(policy_cpdf, what_is_held_goes_on_when_all_that_is_open_waits) {
    controlled p(2);
    task& root = p.root_of(4000);
    ASSERT_EQ(p->next(0, false).t, &root);
    task& top = p.spawns(0, root, 900, spawn_order::child_first);
    EXPECT_EQ(p->next(1, true).t, nullptr);
    p.context.woken.clear();
    p->blocked(0, top, ready_reason::unblocked);
    EXPECT_FALSE(p.context.woken.empty()); // worker 0 might not look again
    EXPECT_EQ(p->next(1, true).t, &root);
    task& second = p.spawns(1, root, 900, spawn_order::parent_first); // one is open
    EXPECT_EQ(p->next(0, true).t, nullptr);
    p->blocked(1, root, ready_reason::joined);
    EXPECT_EQ(p->next(0, true).t, &second);
    p->resumed(1, root); // what it waited for was over before it slept
    p.ends(0, second);
    p->ready(0, top, ready_reason::unblocked);
    EXPECT_EQ(p->next(0, false).t, &top);
    p.ends(0, top);
    p.ends(1, root);
    EXPECT_EQ(p->next(0, true).t, nullptr);
    task& next = p.root_of(4000);
    EXPECT_EQ(p->next(0, false).t, &next);
}

/// The open tasks wait for a held one by yielding.
TEST(policy_cpdf, what_is_held_goes_on_when_a_worker_only_yields) {
    controlled p(1);
    task& root = p.root_of(4000);
    ASSERT_EQ(p->next(0, false).t, &root);
    task& top = p.spawns(0, root, 900, spawn_order::child_first);
    top.state_ = task_state::suspended;
    for (int i = 0; i < 1000; ++i) {
        p->ready(0, top, ready_reason::yielded);
        task* const got = p->next(0, false).t;
        if (got == &root) {
            EXPECT_GT(i, 10); // a yield or two are nothing
            return;
        }
        ASSERT_EQ(got, &top);
    }
    FAIL() << "never came to the rest of the root";
}

TEST(policy_cpdf, caches_are_those_of_the_machine) {
    driven p("cpdf", 1, 2);
    const std::int64_t shared = p.on.last_level_cache_of(0)->bytes;
    task& large = p.make();
    large.hint_.bytes = static_cast<std::size_t>(shared) + 1;
    p->ready(0, large, ready_reason::root);
    ASSERT_EQ(p->next(0, false).t, &large);
    task& fits = p.child_of(large, static_cast<std::size_t>(shared));
    EXPECT_EQ(p->spawn(0, large, fits), spawn_order::child_first);
    p->ready(0, large, ready_reason::continuation);
    EXPECT_EQ(p->next(1, true).t, nullptr);
}

} // namespace
} // namespace weft
