// CAB without an engine: where a tree is cut, by the vectors of Chen & Guo 2017, chapter 3, and which
// worker may take what.
#include "policy/fake_context.hpp"
#include "policy/parts/bi_tier.hpp"
#include "policy/parts/id_table.hpp"
#include "policy/seam/registry.hpp"

#include "machine/load.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

using bi_tier::boundary_level;
using test::fake_context;

constexpr std::uint64_t mega = 1 << 20;

// ---- Eq. 3.4

TEST(cab_boundary, heat_of_the_book) {
    EXPECT_EQ(boundary_level(2, 4, 3072 * 2048 * 16, 6 * mega), 5);
    EXPECT_EQ(boundary_level(2, 2, 0, 6 * mega), 2); // Fig. 3.4: two subtrees
}

TEST(cab_boundary, heat_of_all_sizes) {
    const std::map<std::pair<std::uint64_t, std::uint64_t>, int> expected = {
        {{512, 512}, 3},   {{1024, 512}, 3},  {{1024, 1024}, 3}, {{2048, 1024}, 4},
        {{2048, 2048}, 5}, {{3072, 2048}, 5}, {{4096, 2048}, 6}, {{4096, 4096}, 7}};
    for (const auto& [size, level] : expected) {
        const std::uint64_t bytes = size.first * size.second * 16;
        EXPECT_EQ(boundary_level(2, 4, bytes, 6 * mega), level) << size.first << " x " << size.second;
        EXPECT_LE(bytes >> (level - 1), 6 * mega);
    }
}

TEST(cab_boundary, other_degrees_and_machines) {
    EXPECT_EQ(boundary_level(2, 2, 32 * mega, 8 * mega), 3);
    EXPECT_EQ(boundary_level(4, 4, 96 * mega, 6 * mega), 3);
    EXPECT_EQ(boundary_level(3, 4, 96 * mega, 6 * mega), 4);
    EXPECT_EQ(boundary_level(2, 8, 4 * mega, 30 * mega), 4);
    EXPECT_EQ(boundary_level(2, 6, 100 * mega, 30 * mega), 4);
    EXPECT_EQ(boundary_level(2, 1, 100 * mega, 6 * mega), 0);
}

TEST(cab_boundary, strange_values) {
    EXPECT_EQ(boundary_level(1, 4, 96 * mega, 6 * mega), 0);
    EXPECT_EQ(boundary_level(0, 4, 96 * mega, 6 * mega), 0);
    EXPECT_EQ(boundary_level(2, 4, 96 * mega, 0), 3);
    EXPECT_EQ(boundary_level(2, 4, 0, 0), 3);
    EXPECT_EQ(boundary_level(2, 4, ~std::uint64_t{0}, 1), 65);
}

// ---- Eq. 3.5

int subtrees_of(double bytes, double cache, double width, int wanted, int degree = 2) {
    if (bi_tier::is_subtree(bytes, cache, width, wanted)) return 1;
    int sum = 0;
    for (int i = 0; i < degree; ++i)
        sum += subtrees_of(bytes / degree, cache, width / degree, wanted, degree);
    return sum;
}

TEST(cab_subtrees, at_least_a_subtree_for_each_socket) {
    const double total = 1024 * 512 * 16;
    EXPECT_EQ(subtrees_of(total, 6 * mega, 1, 0), 2); // the literal rule
    EXPECT_EQ(subtrees_of(total, 6 * mega, 1, 4), 4);
    EXPECT_EQ(subtrees_of(total, 6 * mega, 1, 3), 4);
    EXPECT_EQ(subtrees_of(total, 6 * mega, 1, 3, 3), 3); // thirds are not exact
    EXPECT_EQ(subtrees_of(100 * mega, 6 * mega, 1, 4), 32);
    EXPECT_EQ(subtrees_of(100 * mega, 0, 1, 4), 4); // an unknown cache
    EXPECT_EQ(subtrees_of(4 * mega, 6 * mega, 1, 0), 1);
}

TEST(cab_table, keeps_what_was_measured) {
    id_table t(4);
    EXPECT_EQ(t.find(5), 0U);
    t.insert(5, 100);
    t.insert(21, 7); // the same place
    t.insert(5, 200);
    t.insert(0, 9);
    EXPECT_EQ(t.find(5), 200U);
    EXPECT_EQ(t.find(21), 7U);
    EXPECT_EQ(t.find(0), 0U);
    for (std::uint64_t id = 100; id < 200; ++id) t.insert(id, id); // more than there are places
    EXPECT_EQ(t.find(5), 200U);
}

// ---- which worker may take what: two sockets of two cores

class cab : public testing::Test {
protected:
    void attach(const std::string& spec, int workers = 4) {
        context = std::make_unique<fake_context>(workers);
        scheduler = make_policy(spec);
        need = scheduler->attach(on, *context);
    }

    struct record {
        task t{};
        alignas(std::max_align_t) std::byte bytes[max_task_bytes]{}; ///< right behind it
    };
    struct group_record {
        group g{};
        alignas(std::max_align_t) std::byte bytes[64]{};
    };
    task& root() {
        task& t = tasks.emplace_back().t;
        scheduler->ready(0, t, ready_reason::root);
        EXPECT_EQ(scheduler->next(0, false).t, &t);
        scheduler->started(0, t);
        t.state_ = task_state::running;
        return t;
    }
    task& child_of(task& parent, std::size_t bytes = 0) {
        task& t = tasks.emplace_back().t;
        t.parent_ = &parent;
        t.level_ = parent.level_ + 1;
        t.hint_.bytes = bytes;
        group_record& of = groups.emplace_back();
        group& g = of.g;
        g.owner_ = &parent;
        g.data_ = of.bytes;
        t.group_ = &g;
        t.id_ = ids++;
        return t;
    }
    /// A child that `w` spawns and offers.
    task& offer(worker_id w, task& parent, std::size_t bytes = 0) {
        task& t = child_of(parent, bytes);
        EXPECT_EQ(scheduler->spawn(w, parent, t), spawn_order::parent_first);
        last = scheduler->ready(w, t, ready_reason::spawned);
        return t;
    }
    void start(worker_id w, task& t) {
        EXPECT_EQ(scheduler->next(w, true).t, &t);
        scheduler->started(w, t);
        t.state_ = task_state::running;
    }
    void finish(worker_id w, task& t) { scheduler->finished(w, t, {}); }
    /// Its parent waits for it.
    void finish_in_group(worker_id w, task& t, const usage& used) {
        scheduler->group_wait(w, *t.parent_, *t.group_);
        scheduler->finished(w, t, used);
        scheduler->group_end(w, *t.parent_, *t.group_);
    }

    const machine on = load_synthetic("pack:2 [numa] l3:1 core:2 pu:1");
    std::unique_ptr<fake_context> context;
    std::unique_ptr<policy> scheduler;
    requirements need;
    std::deque<record> tasks;
    std::deque<group_record> groups;
    placement last;
    std::uint64_t ids = 100;
};

// C1 of policy/cab.cpp.
TEST_F(cab, only_heads_take_inter_socket_tasks) {
    attach("cab:boundary=1");
    task& main = root();
    task& a = offer(0, main);
    EXPECT_EQ(last.who.first, 0);
    EXPECT_EQ(last.who.size(), 1);
    ASSERT_EQ(context->woken.size(), 1U); // the other head
    EXPECT_EQ(context->woken[0].first, 2);
    for (const worker_id w : {1, 3})
        for (const bool last_look : {false, true}) EXPECT_EQ(scheduler->next(w, last_look).t, nullptr);
    start(2, a);
}

// C2 of policy/cab.cpp.
TEST_F(cab, a_socket_works_on_one_subtree_at_a_time) {
    attach("cab:boundary=1");
    task& main = root();
    task& a = offer(0, main);
    task& b = offer(0, main);
    task& c = offer(0, main);
    start(0, c); // the youngest
    EXPECT_EQ(scheduler->next(0, true).t, nullptr);
    start(2, a); // the oldest
    EXPECT_EQ(scheduler->next(2, true).t, nullptr);
    finish(1, c); // its last task ran there
    ASSERT_FALSE(context->woken.empty());
    EXPECT_EQ(context->woken.back().first, 0);
    start(0, b);
}

TEST_F(cab, a_subtree_is_left_to_its_socket_unless_that_has_more_than_its_part) {
    attach("cab:boundary=1,main=4,keep=on");
    task& main = root();
    const auto offer_at = [&](int place) -> task& {
        task& t = child_of(main);
        t.index_ = place;
        EXPECT_EQ(scheduler->spawn(0, main, t), spawn_order::parent_first);
        last = scheduler->ready(0, t, ready_reason::spawned);
        return t;
    };
    const auto looks_until = [&](worker_id w, const task& t) { // by a worker that does not sleep
        for (int looks = 1; looks < 10'000; ++looks)
            if (task* const got = scheduler->next(w, false).t; got != nullptr) {
                scheduler->started(w, *got);
                return got == &t ? looks : -1;
            }
        return -1;
    };
    const auto run = [&](worker_id w, task& t) {
        start(w, t);
        finish(w, t);
    };
    run(0, offer_at(0));
    run(0, offer_at(1));
    // The other socket has none so far.
    task& taken = offer_at(0);
    EXPECT_LT(looks_until(2, taken), 20);
    finish(2, taken);
    task& own = offer_at(0);
    EXPECT_EQ(last.who.first, 2);
    run(2, own);
    // One each.
    task& left = offer_at(1);
    EXPECT_EQ(last.who.first, 0);
    for (int looks = 0; looks < 1000; ++looks) EXPECT_EQ(scheduler->next(2, false).t, nullptr);
    run(0, left);
    // Three and one, and then two each.
    run(0, offer_at(2));
    run(0, offer_at(3));
    task& first = offer_at(1);
    task& second = offer_at(2);
    EXPECT_LT(looks_until(2, first), 20);
    finish(2, first);
    EXPECT_GT(looks_until(2, second), 900) << "what waits too long is taken all the same";
    finish(2, second);
    run(2, offer_at(3)); // and so does a worker that is about to sleep: start() is a last look
}

TEST_F(cab, a_subtree_that_was_cancelled_before_it_began_ends_none) {
    attach("cab:boundary=1");
    task& main = root();
    task& a = offer(0, main);
    task& b = offer(0, main);
    task& c = offer(0, main);
    start(0, c);
    usage cancelled;
    cancelled.cancelled = true;
    EXPECT_EQ(scheduler->next(2, true).t, &a);
    context->woken.clear();
    scheduler->finished(2, a, cancelled);
    EXPECT_TRUE(context->woken.empty());
    EXPECT_EQ(scheduler->next(0, true).t, nullptr); // `c` has not ended
    start(2, b);
}

TEST_F(cab, a_task_above_the_boundary_is_taken_by_a_busy_socket) {
    attach("cab:boundary=2");
    task& main = root();
    task& left = offer(0, main);
    task& right = offer(0, main);
    start(0, right);
    task& earlier = offer(0, right);
    task& leaf = offer(0, right);
    start(0, leaf);
    EXPECT_EQ(scheduler->next(0, false).t, &left); // `earlier` is kept back
    scheduler->started(0, left);
    left.state_ = task_state::running;
    EXPECT_EQ(scheduler->next(0, true).t, nullptr);
    right.state_ = task_state::suspended;
    scheduler->ready(1, right, ready_reason::joined); // it goes on where it began
    EXPECT_EQ(scheduler->next(0, false).t, &right);
    start(2, earlier);
}

TEST_F(cab, what_waits_for_a_lock_shares_its_socket) {
    attach("cab:boundary=1");
    task& main = root();
    task& a = offer(0, main);
    task& b = offer(0, main);
    start(0, b);
    scheduler->blocked(0, b, ready_reason::joined);
    EXPECT_EQ(scheduler->next(0, true).t, nullptr);
    context->woken.clear();
    scheduler->blocked(0, b, ready_reason::unblocked);
    ASSERT_EQ(context->woken.size(), 1U);
    start(0, a);
    b.state_ = task_state::suspended;
    scheduler->ready(2, b, ready_reason::unblocked); // on another socket
    EXPECT_EQ(scheduler->next(2, true).t, nullptr);
    EXPECT_EQ(scheduler->next(1, false).t, &b);
}

TEST_F(cab, a_subtree_stays_on_its_socket) {
    attach("cab:boundary=1,zone=reported");
    task& main = root();
    task& a = offer(0, main);
    start(2, a);
    task& child = child_of(a);
    EXPECT_EQ(scheduler->spawn(2, a, child), spawn_order::child_first);
    a.state_ = task_state::suspended;
    const placement at = scheduler->ready(2, a, ready_reason::continuation);
    EXPECT_EQ(at.who.first, 2);
    EXPECT_EQ(at.who.size(), 2);
    for (const worker_id w : {0, 1}) EXPECT_EQ(scheduler->next(w, true).t, nullptr);
    EXPECT_EQ(scheduler->next(3, true).t, &a);
}

TEST_F(cab, frames_of_a_subtree_are_asked_for_on_its_socket_only) {
    attach("cab:boundary=1");
    EXPECT_FALSE(need.lazy);
    task& main = root();
    task& a = offer(0, main);
    start(2, a);
    EXPECT_EQ(scheduler->spawn(2, a, child_of(a)), spawn_order::lazy);
    EXPECT_EQ(scheduler->victims(3).first, 2);
    EXPECT_EQ(scheduler->victims(3).size(), 2);
    const decision got = scheduler->next(3, false);
    EXPECT_TRUE(got.ask);
    EXPECT_EQ(got.from, 2);
    EXPECT_FALSE(scheduler->next(1, false).ask);
    record& frame = tasks.emplace_back(); // that of `a`, as the engine makes it
    std::memcpy(static_cast<void*>(frame.bytes), static_cast<void*>(&a + 1), need.task_bytes);
    scheduler->ready(3, frame.t, ready_reason::exposed);
    EXPECT_EQ(scheduler->next(3, false).t, &frame.t);
    scheduler->started(3, frame.t);
    context->woken.clear();
    finish(3, frame.t);
    EXPECT_TRUE(context->woken.empty()); // the socket is busy until `a` has ended
    finish(2, a);
    EXPECT_EQ(context->woken.size(), 1U);
}

TEST_F(cab, random_stealing_where_there_is_one_socket_or_no_boundary) {
    attach("cab:boundary=0");
    EXPECT_TRUE(need.lazy);
    attach("cab:socket=4");
    EXPECT_TRUE(need.lazy);
    attach("cab:boundary=0,zone=reported");
    EXPECT_FALSE(need.lazy);
}

TEST_F(cab, a_child_of_another_tasks_group_is_free) {
    attach("cab:boundary=1");
    task& main = root();
    task& a = offer(0, main);
    start(0, a);
    task& child = child_of(a);
    child.group_->owner_ = &main;
    EXPECT_EQ(scheduler->spawn(0, a, child), spawn_order::child_first);
    scheduler->ready(0, child, ready_reason::yielded);
    EXPECT_EQ(scheduler->next(3, true).t, &child);
}

TEST_F(cab, declared_bytes_decide) {
    attach("cab:mode=gto,cache=1000");
    task& main = root();
    task& top = offer(0, main, 4000);
    start(0, top);
    task& half = offer(0, top); // 2000: half of it, since it does not say
    start(0, half);
    task& leaf = offer(0, half, 1000);
    start(0, leaf);
    EXPECT_EQ(scheduler->spawn(0, leaf, child_of(leaf)), spawn_order::lazy);
}

TEST_F(cab, the_second_iteration_knows_what_the_first_measured) {
    attach("cab:mode=profile,cache=64000,subtrees=0");
    task& main = root();
    scheduler->iteration(0, main, 0);
    const auto run = [&](int k) {
        ids = 100;
        task& top = offer(0, main);
        scheduler->next(0, true);
        scheduler->started(0, top);
        top.state_ = task_state::running;
        for (int i = 0; i < 2; ++i) {
            task& half = offer(0, top);
            EXPECT_EQ(scheduler->next(k == 0 ? 1 : 0, true).t, &half); // by any worker, or by a head
            scheduler->started(0, half);
            half.state_ = task_state::running;
            const spawn_order below = scheduler->spawn(0, half, child_of(half));
            EXPECT_EQ(below, k == 0 ? spawn_order::parent_first : spawn_order::lazy);
            usage used;
            used.misses = 500 * (1 + static_cast<std::uint64_t>(i)); // 32000 and 64000 bytes
            finish_in_group(0, half, used);
        }
        usage used;
        used.misses = 0;
        finish_in_group(0, top, used);
    };
    run(0);
    scheduler->iteration(0, main, 1);
    run(1);
}

/// The owner of a group is the task that was the first to add a task. It may end before the others, and
/// nothing may be written to it then.
TEST_F(cab, what_a_strangers_group_has_measured_goes_nowhere) {
    attach("cab:mode=profile,cache=64000,subtrees=0");
    task& main = root();
    scheduler->iteration(0, main, 0);
    task& adder = offer(0, main);
    task& child = offer(0, adder);
    usage used;
    used.misses = 500;
    const auto before = std::to_array(tasks[1].bytes);
    ASSERT_EQ(&tasks[1].t, &adder);
    scheduler->group_wait(0, main, *child.group_);
    scheduler->finished(0, child, used);
    scheduler->group_end(0, adder, *child.group_);
    EXPECT_EQ(std::to_array(tasks[1].bytes), before);
}

/// Two leaves of 2 misses each, and a threshold of one in a thousand instructions.
TEST_F(cab, a_cpu_bound_program_is_stolen_at_random_after_its_first_iteration) {
    for (const std::uint64_t instructions : {2001U, 2000U, 0U}) {
        const bool plain = instructions == 2001;
        attach("cab:mode=profile,cache=64,subtrees=0");
        task& main = root();
        scheduler->iteration(0, main, 0);
        task& top = offer(0, main);
        scheduler->next(0, true);
        scheduler->started(0, top);
        top.state_ = task_state::running;
        for (int i = 0; i < 2; ++i) {
            task& leaf = offer(0, top);
            EXPECT_EQ(scheduler->next(1, true).t, &leaf);
            scheduler->started(0, leaf);
            usage used;
            used.misses = 2;
            if (instructions > 0) used.instructions = instructions;
            finish_in_group(0, leaf, used);
        }
        usage divided;
        divided.misses = 0;
        if (instructions > 0) divided.instructions = 10;
        finish_in_group(0, top, divided);
        EXPECT_EQ(scheduler->victims(3).size(), 2);

        for (int k = 1; k < 3; ++k) {
            scheduler->iteration(0, main, k);
            task& child = child_of(main);
            EXPECT_EQ(scheduler->spawn(0, main, child),
                      plain ? spawn_order::lazy : spawn_order::parent_first);
            EXPECT_EQ(scheduler->victims(3).size(), plain ? 4 : 2);
        }
        if (!plain) continue;
        int asked = 0;
        for (int look = 0; look < 8; ++look) {
            const decision p = scheduler->next(3, false);
            asked += p.ask && p.from != 3;
        }
        EXPECT_EQ(asked, 7);
        record& frame = tasks.emplace_back(); // of the root
        std::memcpy(static_cast<void*>(frame.bytes), static_cast<void*>(&main + 1), need.task_bytes);
        scheduler->ready(3, frame.t, ready_reason::exposed);
        EXPECT_EQ(scheduler->next(1, true).t, &frame.t);
        scheduler->started(1, frame.t);
        finish(1, frame.t);
        EXPECT_EQ(scheduler->victims(3).size(), 4);
        finish(0, main);
        EXPECT_EQ(scheduler->victims(3).size(), 2);
    }
}

// ---- the classes of 3.4.2.3, as spawns show them: what is above the boundary and at it is spawned
// parent-first, what is below child-first

struct classes {
    int inter = 0, leaves = 0, intra = 0;
    std::map<double, int> by_megabytes; ///< leaves
    bool operator==(const classes&) const = default;
};

class cab_classes : public cab {
protected:
    enum class division : std::uint8_t {
        halves,
        irregular,   ///< one half in quarters, the other one irregular
        in_quarters, ///< of which the third is in quarters, and the others are irregular
    };

    /// Heat of so many rows, and all below it. Worker 0 runs everything.
    spawn_order heat(task& parent, double rows, division how, classes& into) {
        constexpr double row = 512 * 16;
        task& t = child_of(parent, static_cast<std::size_t>(rows * row));
        const spawn_order spawned = scheduler->spawn(0, parent, t);
        scheduler->started(0, t);
        t.state_ = task_state::running;
        spawn_order below = spawn_order::child_first;
        const auto child = [&](double part, division as) { below = heat(t, rows / part, as, into); };
        if (rows > 8) {
            switch (how) {
            case division::halves:
                for (int i = 0; i < 2; ++i) child(2, division::halves);
                break;
            case division::irregular:
                child(2, division::in_quarters);
                child(2, division::irregular);
                break;
            case division::in_quarters:
                for (int i = 0; i < 4; ++i) child(4, i == 2 ? division::in_quarters : division::irregular);
                break;
            }
        }
        if (spawned == spawn_order::child_first) {
            ++into.intra;
        } else if (below == spawn_order::child_first) {
            ++into.leaves;
            ++into.by_megabytes[rows * row / static_cast<double>(mega)];
        } else {
            ++into.inter;
        }
        return spawned;
    }
    classes of(double rows, division how = division::halves) {
        attach("cab:mode=gto,cache=" + std::to_string(6 * mega) + ",subtrees=0,zone=reported");
        classes c;
        heat(root(), rows, how, c);
        return c;
    }
};

TEST_F(cab_classes, of_heat) {
    EXPECT_EQ(of(1024), (classes{1, 2, 252, {{4, 2}}}));
    EXPECT_EQ(of(2048), (classes{3, 4, 504, {{4, 4}}}));
    EXPECT_EQ(of(4096), (classes{7, 8, 1008, {{4, 8}}}));
    EXPECT_EQ(of(8192), (classes{15, 16, 2016, {{4, 16}}}));
}

TEST_F(cab_classes, of_a_program_that_fits_one_cache_there_are_none) {
    EXPECT_EQ(of(512), (classes{0, 0, 127, {}})); // it would be one subtree, on one socket
}

TEST_F(cab_classes, of_irregular_heat) {
    const auto without_intra = [](classes c) { return c.intra = 0, c; };
    EXPECT_EQ(without_intra(of(2048, division::irregular)), (classes{3, 6, 0, {{2, 4}, {4, 2}}}));
    EXPECT_EQ(without_intra(of(4096, division::irregular)), (classes{5, 10, 0, {{4, 6}, {2, 4}}}));
    EXPECT_EQ(without_intra(of(8192, division::irregular)), (classes{11, 20, 0, {{4, 12}, {2, 8}}}));
}

TEST_F(cab_classes, what_is_as_large_as_the_cache_fits_and_below_a_subtree_no_size_counts) {
    attach("cab:mode=gto,cache=6000,subtrees=0,zone=reported");
    task& main = root();
    task& top = offer(0, main, 12000);
    start(0, top);
    task& fits = offer(0, top, 6000);
    start(0, fits);
    EXPECT_EQ(scheduler->spawn(0, fits, child_of(fits, 3000)), spawn_order::child_first);
    EXPECT_EQ(scheduler->spawn(0, fits, child_of(fits, 7000)), spawn_order::child_first); // noise
}

} // namespace
} // namespace weft
