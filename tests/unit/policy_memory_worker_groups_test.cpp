// ml-steal and sb, which keep tasks under caches, without an engine.
#include "policy/fake_context.hpp"
#include "policy/seam/registry.hpp"

#include "machine/load.hpp"

#include <weft/impl/group.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

struct open_group {
    open_group(task& owner, std::size_t bytes) : all{.bytes = bytes} {
        g.owner_ = &owner;
        g.hint_ = &all;
        g.data_ = room;
    }
    group g;
    hints all;
    alignas(std::max_align_t) std::byte room[max_group_bytes] = {};
};

/// Two caches of 1000 bytes, under each of them `cores` workers with 100 of their own.
struct driven {
    driven(const std::string& spec, int cores = 4) : context(2 * cores), scheduler(make_policy(spec)) {
        need =
            scheduler->attach(load_synthetic("pack:1 [numa] l3:2(size=1000) core:" + std::to_string(cores) +
                                             " l2:1(size=100) pu:1"),
                              context);
    }
    policy* operator->() const { return scheduler.get(); }

    task& make(std::size_t bytes = 0) {
        task& t = tasks.emplace_back();
        t.hint_.bytes = bytes;
        return t;
    }
    open_group& open(worker_id w, task& owner, std::size_t bytes) {
        open_group& g = groups.emplace_back(owner, bytes);
        scheduler->group_begin(w, owner, g.g);
        return g;
    }
    void close(worker_id w, task& owner, open_group& g) {
        scheduler->group_wait(w, owner, g.g);
        scheduler->group_end(w, owner, g.g);
    }
    task& child_of(task& parent, open_group& in, std::size_t bytes = 0) {
        task& t = make(bytes);
        t.parent_ = &parent;
        t.group_ = &in.g;
        return t;
    }
    void start(worker_id w, task& t) {
        scheduler->started(w, t);
        t.state_ = task_state::running;
    }
    /// `w` runs `parent`, and spawns a child that it runs instead.
    task& spawn_first(worker_id w, task& parent, open_group& in, std::size_t bytes = 0) {
        task& child = child_of(parent, in, bytes);
        EXPECT_EQ(scheduler->spawn(w, parent, child), spawn_order::child_first);
        parent.state_ = task_state::suspended;
        scheduler->ready(w, parent, ready_reason::continuation);
        start(w, child);
        return child;
    }
    /// A root that `w` has begun.
    task& root_on(worker_id w, std::size_t bytes = 0) {
        task& t = make(bytes);
        scheduler->ready(w, t, ready_reason::root);
        EXPECT_EQ(scheduler->next(w, false).t, &t);
        start(w, t);
        return t;
    }
    bool takes(worker_id w, task& t) {
        for (int look = 0; look < 100; ++look)
            if (task* const got = scheduler->next(w, look == 99).t) {
                EXPECT_EQ(got, &t);
                return got == &t;
            }
        return false;
    }
    bool was_woken(worker_id w) const {
        return std::ranges::any_of(context.woken, [&](workers r) { return r.contains(w); });
    }

    test::fake_context context;
    requirements need;
    std::unique_ptr<policy> scheduler;
    std::deque<test::task_with_bytes> tasks;
    std::deque<open_group> groups;
};

// ---- ml-steal

/// The vector of section 5.5 on the machine of Table 5.1: two L3 of 38.5 MB, 28 cores each.
TEST(policy_ml_steal, the_level_follows_from_the_bytes) {
    constexpr std::size_t mb = 1 << 20;
    const machine on = load_synthetic("pack:2 [numa] l3:1(size=40370176) core:28 l2:1(size=1048576) pu:1");
    const auto with_group_of = [&](std::size_t bytes, const auto& check) {
        driven p("ml-steal");
        test::fake_context context(56);
        const auto scheduler = make_policy("ml-steal");
        scheduler->attach(on, context);
        task& root = p.make();
        scheduler->ready(0, root, ready_reason::root);
        ASSERT_EQ(scheduler->next(0, false).t, &root);
        scheduler->started(0, root);
        open_group g(root, bytes);
        scheduler->group_begin(0, root, g.g);
        task& child = p.child_of(root, g);
        check(*scheduler, scheduler->spawn(0, root, child), child);
    };
    driven others("ml-steal");
    const auto below = [&](policy& p, task& child) { // what a spawn of the child does
        open_group g(child, 0);
        p.group_begin(0, child, g.g);
        const spawn_order how = p.spawn(0, child, others.child_of(child, g));
        p.group_wait(0, child, g.g);
        p.group_end(0, child, g.g);
        return how;
    };
    for (const std::size_t bytes : {std::size_t{0}, 50 * mb, 77 * mb}) {
        with_group_of(bytes, [&](policy& p, spawn_order how, task& child) {
            EXPECT_EQ(how, spawn_order::child_first) << bytes;
            EXPECT_EQ(below(p, child), spawn_order::lazy) << bytes;
            EXPECT_EQ(p.victims(40).size(), 56);
        });
    }
    with_group_of(80 * mb, [&](policy& p, spawn_order how, task& child) {
        EXPECT_EQ(how, spawn_order::child_first);
        EXPECT_TRUE(p.victims(1).empty());
        p.started(0, child);
        for (const std::size_t bytes : {38 * mb, 40 * mb}) {
            open_group g(child, bytes);
            p.group_begin(0, child, g.g);
            task& grandchild = others.child_of(child, g);
            EXPECT_EQ(p.spawn(0, child, grandchild), spawn_order::child_first);
            const bool fits = bytes == 38 * mb;
            EXPECT_EQ(p.victims(1).size(), fits ? 28 : 0);
            EXPECT_TRUE(p.victims(28).empty());
            if (fits) { EXPECT_EQ(below(p, grandchild), spawn_order::lazy); }
            p.finished(0, grandchild, {});
            p.group_wait(0, child, g.g);
            p.group_end(0, child, g.g);
        }
    });
}

/// I1 of src/policy/ml_steal.cpp.
TEST(policy_ml_steal, one_large_task_at_a_time_under_a_cache) {
    driven p("ml-steal");
    task& root = p.root_on(0);
    open_group& whole = p.open(0, root, 8000);
    task& first = p.spawn_first(0, root, whole);
    EXPECT_EQ(p->next(1, true).t, nullptr); // the cache of worker 1 has the first one
    ASSERT_TRUE(p.takes(5, root));          // the oldest of the other cache
    task& second = p.spawn_first(5, root, whole);
    EXPECT_EQ(p->next(4, true).t, nullptr);
    p.root_on(7); // under the same cache a worker continues
    // What the second leaves behind is for any free worker under its cache, and then for the other one.
    p.context.woken.clear();
    p->finished(5, second, {});
    EXPECT_TRUE(p.was_woken(4));
    ASSERT_TRUE(p.takes(6, root));
    p->blocked(6, root, ready_reason::joined);
    root.state_ = task_state::suspended;
    p.context.woken.clear();
    p->finished(0, first, {});
    p->ready(0, root, ready_reason::joined); // the last one to join leads
    EXPECT_TRUE(p.takes(0, root));
    p->resumed(0, root);
    p.close(0, root, whole);
    p->finished(0, root, {});
    for (worker_id w = 0; w < 8; ++w) EXPECT_EQ(p->next(w, true).t, nullptr);
}

/// I2 of src/policy/ml_steal.cpp.
TEST(policy_ml_steal, what_fits_is_shared_under_its_cache_only) {
    driven p("ml-steal");
    task& root = p.root_on(0);
    open_group& whole = p.open(0, root, 8000);
    task& large = p.spawn_first(0, root, whole);
    p.context.woken.clear();
    open_group& fits = p.open(0, large, 900);
    EXPECT_TRUE(p.was_woken(3));
    EXPECT_FALSE(p.was_woken(4));
    task& below = p.spawn_first(0, large, fits);
    EXPECT_TRUE(p.takes(1, large)); // its rest
    p->blocked(1, large, ready_reason::joined);
    EXPECT_EQ(p->spawn(0, below, p.child_of(below, p.open(0, below, 0))), spawn_order::lazy);
    EXPECT_EQ(p->victims(1).first, 0);
    EXPECT_EQ(p->victims(1).last, 4);
    EXPECT_TRUE(p->victims(4).empty());
    int asks = 0;
    for (int i = 0; i < 20; ++i) {
        const decision looked = p->next(1, false);
        ASSERT_EQ(looked.t, nullptr); // the rest of the root: this cache is taken while the group is open
        asks += looked.ask ? 1 : 0;
        if (looked.ask) { EXPECT_LT(looked.from, 4); }
        EXPECT_FALSE(p->next(2, true).ask);
    }
    EXPECT_GT(asks, 5);
    // A frame that came too far goes back.
    task& frame = p.make();
    frame.data<std::array<std::byte, max_task_bytes>>() = below.data<std::array<std::byte, max_task_bytes>>();
    const placement back = p->ready(6, frame, ready_reason::exposed);
    EXPECT_EQ(back.who.first, 0);
    EXPECT_EQ(back.who.last, 4);
    EXPECT_EQ(p->next(1, false).t, &frame);
    p->finished(1, frame, {});
    // Only when the group ends, the cache is a member of the level above again.
    p->finished(0, below, {});
    p->ready(2, large, ready_reason::joined);
    EXPECT_EQ(p->next(3, false).t, nullptr); // it asks
    EXPECT_EQ(p->next(3, true).t, &large);
    EXPECT_EQ(p->next(0, true).t, nullptr);
    p.close(3, large, fits);
    p->finished(3, large, {});
    EXPECT_TRUE(p.takes(2, root));
}

TEST(policy_ml_steal, a_cache_whose_workers_run_nothing_lets_another_one_in) {
    driven p("ml-steal");
    task& root = p.root_on(0);
    open_group& whole = p.open(0, root, 8000);
    task& large = p.spawn_first(0, root, whole);
    p.open(0, large, 900);
    task& other = p.root_on(4);
    open_group& others = p.open(4, other, 8000);
    p.open(4, p.spawn_first(4, other, others), 900);
    EXPECT_EQ(p->next(1, true).t, nullptr);
    EXPECT_EQ(p->next(5, true).t, nullptr);
    p.context.woken.clear();
    p->blocked(0, large, ready_reason::unblocked); // for what the rest of the root does, maybe
    EXPECT_TRUE(p.was_woken(0));                   // which might not look again
    EXPECT_EQ(p->next(1, false).t, nullptr);
    EXPECT_EQ(p->next(1, true).t, &root);
    EXPECT_EQ(p->next(5, true).t, nullptr);
}

/// Workers that spin never have a last look.
TEST(policy_ml_steal, an_idle_cache_lets_another_one_in_without_a_last_look) {
    driven p("ml-steal");
    task& root = p.root_on(0);
    task& large = p.spawn_first(0, root, p.open(0, root, 8000));
    p.open(0, large, 900);
    p->blocked(0, large, ready_reason::unblocked);
    int looks = 1;
    while (p->next(2, false).t == nullptr && looks < 1000) ++looks;
    EXPECT_LT(looks, 1000);
    EXPECT_GT(looks, 100);
}

TEST(policy_ml_steal, a_worker_that_only_yields_lets_another_one_in) {
    driven p("ml-steal");
    task& root = p.root_on(0);
    open_group& whole = p.open(0, root, 8000);
    task& large = p.spawn_first(0, root, whole);
    p.open(0, large, 900);
    large.state_ = task_state::suspended;
    for (int i = 0; i < 100; ++i) {
        p->ready(0, large, ready_reason::yielded);
        task* const got = p->next(0, false).t;
        if (got == &root) {
            EXPECT_GT(i, 10);
            return;
        }
        ASSERT_EQ(got, &large);
    }
    FAIL() << "never came to the rest of the root";
}

/// I3 of src/policy/ml_steal.cpp.
TEST(policy_ml_steal, tasks_of_graphs_are_stolen_by_everybody) {
    driven p("ml-steal");
    task& released = p.make();
    p->ready(0, released, ready_reason::released);
    ASSERT_EQ(p->next(0, false).t, &released);
    EXPECT_TRUE(p->victims(7).empty());
    p.start(0, released);
    EXPECT_EQ(p->victims(7).size(), 8);
    open_group& g = p.open(0, released, 8000);
    EXPECT_EQ(p->spawn(0, released, p.child_of(released, g)), spawn_order::lazy);
    p->ready(7, released, ready_reason::continuation);
    EXPECT_EQ(p->next(3, true).t, &released);
    // A frame of it that is dropped before it began counts for nothing.
    task& frame = p.make();
    frame.data<std::array<std::byte, max_task_bytes>>() =
        released.data<std::array<std::byte, max_task_bytes>>();
    p->ready(2, frame, ready_reason::exposed);
    usage cancelled;
    cancelled.cancelled = true;
    p->finished(2, frame, cancelled);
    EXPECT_EQ(p->victims(7).size(), 8);
    p->finished(3, released, {});
    EXPECT_TRUE(p->victims(7).empty());
}

TEST(policy_ml_steal, children_in_the_group_of_another_task_are_everybodys) {
    driven p("ml-steal");
    task& root = p.root_on(0);
    open_group& whole = p.open(0, root, 8000);
    task& large = p.spawn_first(0, root, whole);
    task& stranger = p.child_of(root, whole);
    EXPECT_EQ(p->spawn(0, large, stranger), spawn_order::parent_first);
    p->ready(0, stranger, ready_reason::spawned);
    EXPECT_EQ(p->next(2, true).t, &stranger);
}

TEST(policy_ml_steal, is_random_stealing_without_shared_caches) {
    test::fake_context context(4);
    const auto p = make_policy("ml-steal");
    EXPECT_TRUE(p->attach(machine(load_synthetic("core:4 pu:1")), context).lazy);
    EXPECT_TRUE(p->next(2, false).ask);
    EXPECT_EQ(p->victims(0).size(), 4);
}

// ---- sb: what fits at most 500 bytes of a shared cache, and at most 50 of an own one, is anchored there

TEST(policy_sb, a_task_is_anchored_to_the_smallest_cache_that_it_half_fills) {
    driven p("sb");
    task& root = p.root_on(0, 8000);
    open_group& g = p.open(0, root, 0);
    task& shared = p.spawn_first(0, root, g, 500);
    open_group& in_shared = p.open(0, shared, 0);
    task& same = p.spawn_first(0, shared, in_shared, 51); // too large for the cache of a worker
    EXPECT_TRUE(p.takes(5, root));                        // of the memory
    EXPECT_TRUE(p.takes(1, shared));
    p->blocked(1, shared, ready_reason::joined);
    shared.state_ = task_state::suspended;
    p->ready(5, shared, ready_reason::joined); // by a worker under the other cache
    EXPECT_EQ(p->next(4, true).t, nullptr);
    EXPECT_TRUE(p.takes(1, shared));
    open_group& in_same = p.open(0, same, 0);
    task& own = p.spawn_first(0, same, in_same, 50);
    open_group& in_own = p.open(0, own, 0);
    EXPECT_EQ(p->spawn(0, own, p.child_of(own, in_own, 50)), spawn_order::lazy);
    EXPECT_TRUE(p->victims(1).empty()); // and no worker asks for it
    own.state_ = task_state::suspended;
    p->blocked(0, own, ready_reason::unblocked);
    EXPECT_EQ(p->ready(3, own, ready_reason::unblocked).who.size(), 1);
    EXPECT_TRUE(p.takes(3, same)); // the rest, under the shared cache
    EXPECT_TRUE(p.takes(0, own));
}

/// B3 of src/policy/sb.cpp.
TEST(policy_sb, tasks_are_anchored_while_there_is_room) {
    driven p("sb:mu=0");
    task& root = p.root_on(0, 8000);
    open_group& g = p.open(0, root, 0);
    task& one = p.spawn_first(0, root, g, 500);
    ASSERT_TRUE(p.takes(1, root));
    task& two = p.spawn_first(1, root, g, 500); // both fill the first cache
    ASSERT_TRUE(p.takes(2, root));
    task& three = p.child_of(root, g, 500);
    EXPECT_EQ(p->spawn(2, root, three), spawn_order::parent_first);
    p->ready(2, three, ready_reason::spawned);
    EXPECT_TRUE(p.was_woken(7));
    EXPECT_EQ(p->next(3, true).t, nullptr);
    EXPECT_TRUE(p.takes(4, three)); // under the other one
    p.start(4, three);
    task& four = p.child_of(root, g, 400);
    EXPECT_EQ(p->spawn(2, root, four), spawn_order::parent_first);
    p->ready(2, four, ready_reason::spawned);
    EXPECT_EQ(p->next(3, true).t, nullptr);
    p.context.woken.clear();
    p->finished(1, two, {});
    EXPECT_TRUE(p.was_woken(3));
    EXPECT_TRUE(p.takes(3, four));
    p.start(3, four);
    for (const auto& [w, t] : {std::pair<worker_id, task*>{0, &one}, {4, &three}, {3, &four}, {2, &root}})
        p->finished(w, *t, {});
    // All room has been given back.
    task& again = p.root_on(5, 8000);
    for (worker_id w : {5, 6}) {
        p.spawn_first(w, again, p.open(w, again, 0), 500);
        ASSERT_TRUE(p.takes(w + 1, again));
    }
    EXPECT_EQ(p->spawn(7, again, p.child_of(again, p.open(7, again, 0), 500)), spawn_order::parent_first);
}

TEST(policy_sb, a_strand_takes_its_part_of_the_caches_below_its_anchor) {
    driven p("sb:mu=40");
    std::vector<task*> roots; // two of them take 400 each
    for (worker_id w : {0, 1, 4, 5}) roots.push_back(&p.root_on(w, 8000));
    for (const std::size_t i : {2U, 3U}) {
        roots[i]->state_ = task_state::suspended;
        p->blocked(static_cast<worker_id>(i) + 2, *roots[i], ready_reason::unblocked);
    }
    p->ready(2, *roots[2], ready_reason::unblocked);
    EXPECT_EQ(p->next(2, true).t, nullptr);
    p.context.woken.clear();
    p->blocked(0, *roots[0], ready_reason::unblocked);
    EXPECT_TRUE(p.was_woken(2));
    EXPECT_TRUE(p.takes(2, *roots[2]));
    p->resumed(2, *roots[2]);
    p->ready(3, *roots[3], ready_reason::unblocked);
    EXPECT_EQ(p->next(3, true).t, nullptr);
    EXPECT_TRUE(p.takes(4, *roots[3])); // under the other cache
}

TEST(policy_sb, unused_room_is_given_twice) {
    driven p("sb", 2);
    task& root = p.root_on(0, 8000);
    open_group& g = p.open(0, root, 0);
    task& one = p.spawn_first(0, root, g, 500);
    p->blocked(0, one, ready_reason::unblocked);
    ASSERT_TRUE(p.takes(0, root));
    task& two = p.spawn_first(0, root, g, 400);
    EXPECT_EQ(p->next(1, true).t, nullptr); // the root lacks 100 bytes
    p.context.woken.clear();
    p->blocked(0, two, ready_reason::unblocked);
    EXPECT_TRUE(p.was_woken(1));
    EXPECT_EQ(p->next(1, false).t, nullptr);
    EXPECT_EQ(p->next(1, true).t, &root);
    p->blocked(1, root, ready_reason::unblocked);
    p->ready(1, root, ready_reason::unblocked);
    int looks = 1; // workers that spin have no last look
    while (p->next(0, false).t == nullptr && looks < 1000) ++looks;
    EXPECT_LT(looks, 1000);
}

TEST(policy_sb, a_worker_that_only_yields_needs_no_room) {
    driven p("sb", 2);
    task& root = p.root_on(0, 8000);
    open_group& g = p.open(0, root, 0);
    task& one = p.spawn_first(0, root, g, 500);
    p->blocked(0, one, ready_reason::unblocked);
    ASSERT_TRUE(p.takes(0, root));
    task& two = p.spawn_first(0, root, g, 450);
    two.state_ = task_state::suspended;
    p.root_on(1); // a worker is busy
    for (int i = 0; i < 100; ++i) {
        p->ready(0, two, ready_reason::yielded);
        task* const got = p->next(0, false).t;
        if (got == &root) {
            EXPECT_GT(i, 10);
            return;
        }
        ASSERT_EQ(got, &two);
    }
    FAIL() << "never came to the rest of the root";
}

// B2 of policy/sb.cpp.
TEST(policy_sb, frames_of_an_anchored_task_give_back_nothing) {
    driven p("sb:mu=0");
    task& root = p.root_on(0, 8000);
    open_group& g = p.open(0, root, 0);
    task& one = p.spawn_first(0, root, g, 500);
    ASSERT_TRUE(p.takes(1, root));
    p.spawn_first(1, root, g, 500);
    EXPECT_EQ(p->spawn(0, one, p.child_of(one, p.open(0, one, 0))), spawn_order::lazy); // without bytes
    task& frame = p.make();
    frame.data<std::array<std::byte, max_task_bytes>>() = one.data<std::array<std::byte, max_task_bytes>>();
    EXPECT_EQ(p->victims(2).size(), 4);
    EXPECT_TRUE(p->victims(5).empty());
    p->ready(2, frame, ready_reason::exposed);
    ASSERT_TRUE(p.takes(3, frame));
    p.start(3, frame);
    p->finished(3, frame, {});
    ASSERT_TRUE(p.takes(2, root));
    EXPECT_EQ(p->spawn(2, root, p.child_of(root, g, 500)), spawn_order::parent_first);
}

TEST(policy_sb, programs_without_bytes_are_stolen_at_random) {
    driven p("sb");
    task& root = p.root_on(0);
    EXPECT_FALSE(p->next(5, false).ask);
    EXPECT_EQ(p->spawn(0, root, p.child_of(root, p.open(0, root, 0))), spawn_order::lazy);
    EXPECT_TRUE(p.was_woken(7));
    EXPECT_TRUE(p->next(5, false).ask);
    EXPECT_EQ(p->victims(5).size(), 8);
}

} // namespace
} // namespace weft
