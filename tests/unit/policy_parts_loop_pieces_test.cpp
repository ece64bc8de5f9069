// Loops that are cut into pieces at once, without an engine.
#include "policy/fake_context.hpp"
#include "policy/parts/fair_turns.hpp"
#include "policy/parts/loop_pieces.hpp"

#include "machine/load.hpp"

#include <weft/impl/group.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <deque>
#include <vector>

namespace weft {
namespace {

using dealt = loop_pieces::dealt;

struct group_with_bytes {
    group g;
    alignas(std::max_align_t) std::byte bytes[max_group_bytes]{};
};

/// Two pieces a worker, for three workers.
class loop_in_pieces : public testing::Test {
protected:
    explicit loop_in_pieces(dealt how, loop_pieces::outermost where = loop_pieces::outermost::anywhere)
        : pieces(how, 2, where) {
        need = pieces.attach(load_synthetic("pack:1 [numa] l3:1 core:3 pu:1"), context);
    }

    group& open(task& owner) {
        group_with_bytes& made = groups.emplace_back();
        made.g.owner_ = &owner;
        made.g.data_ = made.bytes;
        pieces.group_begin(0, owner, made.g);
        return made.g;
    }
    task& child_of(task& parent, group& in, int index = 0) {
        task& t = tasks.emplace_back();
        t.parent_ = &parent;
        t.group_ = &in;
        t.index_ = index;
        return t;
    }
    /// All pieces of a loop, put by worker 0.
    std::vector<task*> loop() {
        task& root = tasks.emplace_back();
        const int count = pieces.pieces(0, root);
        group& g = open(root);
        std::vector<task*> all;
        for (int i = 0; i < count; ++i) {
            task& piece = child_of(root, g, i);
            EXPECT_EQ(pieces.spawn(0, root, piece), spawn_order::parent_first);
            placed.push_back(pieces.ready(0, piece, ready_reason::spawned));
            all.push_back(&piece);
        }
        return all;
    }
    /// A task that is no piece, in the deque of `w`.
    task& other(worker_id w) {
        task& t = tasks.emplace_back();
        pieces.ready(w, t, ready_reason::continuation);
        return t;
    }
    task* next(worker_id w) { return pieces.next(w, false).t; }
    task* last_look(worker_id w) { return pieces.next(w, true).t; }

    test::fake_context context{3};
    loop_pieces pieces;
    requirements need;
    std::deque<test::task_with_bytes> tasks;
    std::deque<group_with_bytes> groups;
    std::vector<placement> placed;
};

struct pieces_in_turn : loop_in_pieces {
    pieces_in_turn() : loop_in_pieces(dealt::in_turn) {}
};
struct pieces_on_demand : loop_in_pieces {
    pieces_on_demand() : loop_in_pieces(dealt::on_demand) {}
};

TEST_F(pieces_in_turn, are_the_children_of_the_next_group_alone) {
    task& root = tasks.emplace_back();
    group& before = open(root);
    EXPECT_EQ(pieces.pieces(0, root), 6);
    group& g = open(root);
    group& after = open(root);
    EXPECT_EQ(pieces.spawn(0, root, child_of(root, before)), spawn_order::child_first);
    EXPECT_EQ(pieces.spawn(0, root, child_of(root, g)), spawn_order::parent_first);
    EXPECT_EQ(pieces.spawn(0, root, child_of(root, after)), spawn_order::child_first);
    EXPECT_EQ(pieces.spawn(0, root, tasks.emplace_back()), spawn_order::child_first) << "of no group";
}

TEST_F(pieces_in_turn, are_silent_and_not_cut_again) {
    task& piece = *loop().front();
    EXPECT_EQ(pieces.pieces(0, piece), 0);
    EXPECT_EQ(pieces.spawn(0, piece, child_of(piece, open(piece))), spawn_order::lazy);
}

TEST_F(pieces_in_turn, go_round_the_workers_and_to_no_other) {
    const std::vector<task*> all = loop();
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(placed[i].at, static_cast<place_id>(i % 3));
        EXPECT_EQ(placed[i].who.first, static_cast<worker_id>(i % 3));
        EXPECT_EQ(placed[i].who.size(), 1);
    }
    EXPECT_EQ(last_look(2), all[2]);
    EXPECT_EQ(last_look(2), all[5]);
    EXPECT_EQ(last_look(2), nullptr);
    EXPECT_EQ(last_look(0), all[0]);
}

TEST_F(pieces_in_turn, of_a_worker_that_becomes_inactive_go_to_any_other) {
    EXPECT_TRUE(need.resizable);
    const std::vector<task*> all = loop();
    context.woken.clear();
    context.active_workers = 2;
    pieces.resized(context.active());
    ASSERT_EQ(context.woken.size(), 1U) << "they look once more";
    EXPECT_EQ(context.woken[0].size(), 2);
    EXPECT_EQ(next(1), all[1]) << "its own ones first";
    EXPECT_EQ(next(1), all[4]);
    EXPECT_EQ(last_look(1), all[2]);
    all[2]->state_ = task_state::suspended;
    EXPECT_EQ(pieces.ready(1, *all[2], ready_reason::joined).at, 2) << "it comes home all the same";
    EXPECT_EQ(last_look(1), all[2]);
    EXPECT_EQ(last_look(1), all[5]);
    EXPECT_EQ(last_look(1), nullptr) << "those of worker 0 are its own";
    EXPECT_EQ(next(0), all[0]);
}

TEST_F(pieces_in_turn, are_dealt_out_to_the_workers_that_are_active_when_the_loop_begins) {
    context.active_workers = 2;
    task& root = tasks.emplace_back();
    ASSERT_EQ(pieces.pieces(0, root), 4);
    group& g = open(root);
    for (int i = 0; i < 4; ++i) {
        context.active_workers = i < 2 ? 2 : 3; // meanwhile a third one becomes active
        task& piece = child_of(root, g, i);
        ASSERT_EQ(pieces.spawn(0, root, piece), spawn_order::parent_first);
        EXPECT_EQ(pieces.ready(0, piece, ready_reason::spawned).at, i % 2);
    }
}

TEST_F(pieces_in_turn, come_home_in_front_after_a_wait) {
    const std::vector<task*> all = loop();
    ASSERT_EQ(next(1), all[1]);
    all[1]->state_ = task_state::suspended;
    const placement at = pieces.ready(2, *all[1], ready_reason::joined); // its last child ended there
    EXPECT_EQ(at.at, 1);
    EXPECT_EQ(last_look(0), all[0]);
    EXPECT_EQ(next(1), all[1]);
    EXPECT_EQ(next(1), all[4]);
}

TEST_F(pieces_in_turn, come_before_other_tasks_but_not_at_a_fair_turn) {
    const std::vector<task*> all = loop();
    task& task_of_1 = other(1);
    for (unsigned i = 1; i < fair_turns::turns_to_fair; ++i) {
        ASSERT_EQ(next(1), all[1]) << i;
        all[1]->state_ = task_state::suspended;
        pieces.ready(1, *all[1], ready_reason::joined);
    }
    EXPECT_EQ(next(1), &task_of_1);
    EXPECT_EQ(next(1), all[1]);
}

TEST_F(pieces_in_turn, that_yield_let_one_other_task_go_first) {
    const std::vector<task*> all = loop();
    task &one = other(1), &two = other(1);
    ASSERT_EQ(next(1), all[1]);
    all[1]->state_ = task_state::suspended;
    pieces.ready(1, *all[1], ready_reason::yielded);
    EXPECT_EQ(next(1), &two);
    EXPECT_EQ(next(1), all[4]) << "behind it";
    EXPECT_EQ(next(1), all[1]);
    EXPECT_EQ(next(1), &one);
}

TEST_F(pieces_in_turn, that_only_yield_make_one_look_elsewhere_but_no_last_look) {
    const std::vector<task*> all = loop();
    ASSERT_EQ(next(1), all[1]);
    ASSERT_EQ(next(1), all[4]);
    all[1]->state_ = task_state::suspended;
    const auto yield_often = [&] {
        for (unsigned i = 1; i < fair_turns::yields_to_look; ++i) {
            pieces.ready(1, *all[1], ready_reason::yielded);
            ASSERT_EQ(next(1), all[1]) << i;
        }
        pieces.ready(1, *all[1], ready_reason::yielded);
    };
    yield_often();
    task& elsewhere = other(2);
    context.draws = {1}; // worker 2
    EXPECT_EQ(next(1), &elsewhere);
    EXPECT_EQ(next(1), all[1]);
    yield_often();
    EXPECT_EQ(last_look(1), all[1]);
}

/// What a piece runs silently may be offered, too, with a copy of the piece's bytes.
TEST_F(pieces_in_turn, leave_to_any_worker_what_lies_below_them) {
    task& piece = *loop().at(1);
    ASSERT_EQ(next(1), &piece);
    test::task_with_bytes& rest = tasks.emplace_back();
    std::memcpy(rest.bytes, static_cast<const void*>(&piece + 1), sizeof rest.bytes);
    rest.state_ = task_state::suspended;
    const placement at = pieces.ready(2, rest, ready_reason::continuation);
    EXPECT_EQ(at.at, 2);
    EXPECT_EQ(at.who.size(), 3);
}

TEST_F(pieces_on_demand, go_in_order_to_the_workers_that_ask) {
    EXPECT_TRUE(need.resizable);
    const std::vector<task*> all = loop();
    for (const placement& at : placed) {
        EXPECT_EQ(at.at, 4) << "a place that all share";
        EXPECT_EQ(at.who.size(), 3);
    }
    const worker_id asks[] = {2, 0, 0, 1, 2, 2};
    for (std::size_t i = 0; i < 6; ++i) {
        const decision got = pieces.next(asks[i], false);
        EXPECT_EQ(got.t, all[i]);
        EXPECT_EQ(got.from, 4);
    }
    EXPECT_EQ(last_look(1), nullptr);
}

TEST_F(pieces_on_demand, come_after_the_tasks_of_a_worker_which_include_begun_pieces) {
    const std::vector<task*> all = loop();
    ASSERT_EQ(next(1), all[0]);
    all[0]->state_ = task_state::suspended;
    EXPECT_EQ(pieces.ready(1, *all[0], ready_reason::joined).at, 1);
    EXPECT_EQ(next(1), all[0]);
    EXPECT_EQ(next(1), all[1]);
}

/// A frame has the bytes of the task that it comes from.
TEST_F(pieces_on_demand, have_frames_that_are_no_pieces) {
    task& piece = *loop().front();
    ASSERT_EQ(next(0), &piece);
    test::task_with_bytes& frame = tasks.emplace_back();
    std::memcpy(frame.bytes, static_cast<const void*>(&piece + 1), sizeof frame.bytes);
    EXPECT_EQ(pieces.ready(2, frame, ready_reason::exposed).at, 2);
    EXPECT_EQ(pieces.pieces(2, frame), 6);
}

// ---- outermost tasks on the first worker

struct outermost_tasks : loop_in_pieces {
    outermost_tasks() : loop_in_pieces(dealt::on_demand, loop_pieces::outermost::on_the_first) {}

    /// Put by `w`, for that reason.
    placement put(worker_id w, task& t, ready_reason reason) { return pieces.ready(w, t, reason); }
};

TEST_F(outermost_tasks, run_on_the_first_worker_and_go_on_there_before_pieces) {
    task& root = tasks.emplace_back();
    const placement at = put(2, root, ready_reason::root);
    EXPECT_EQ(at.at, 0);
    EXPECT_EQ(at.who.first, 0);
    EXPECT_EQ(at.who.size(), 1);
    EXPECT_EQ(last_look(1), nullptr);
    EXPECT_EQ(last_look(2), nullptr);
    EXPECT_EQ(next(0), &root);
    const std::vector<task*> loop_of_another = loop();
    root.state_ = task_state::suspended;
    EXPECT_EQ(put(2, root, ready_reason::joined).at, 0) << "worker 2 has ended the last piece";
    EXPECT_EQ(last_look(2), loop_of_another[0]);
    EXPECT_EQ(next(0), &root);
}

TEST_F(outermost_tasks, have_frames_that_run_anywhere) {
    task& root = tasks.emplace_back();
    put(0, root, ready_reason::root);
    ASSERT_EQ(next(0), &root);
    for (const ready_reason reason : {ready_reason::exposed, ready_reason::continuation}) {
        test::task_with_bytes& frame = tasks.emplace_back();
        std::memcpy(frame.bytes, static_cast<const void*>(&root + 1), sizeof frame.bytes);
        EXPECT_EQ(put(1, frame, reason).at, 1);
        EXPECT_EQ(next(1), &frame);
    }
}

TEST_F(pieces_on_demand, outermost_tasks_run_anywhere_unless_they_are_to_be_on_the_first) {
    task& root = tasks.emplace_back();
    pieces.ready(0, root, ready_reason::root);
    EXPECT_EQ(next(2), &root);
}

} // namespace
} // namespace weft
