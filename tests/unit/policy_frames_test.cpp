// Frames whose records lie where an ended task lay. They have the bytes of that task, in which it named
// itself, and are another task all the same.
#include "policy/on_sockets.hpp"

#include <weft/impl/group.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <string>

namespace weft {
namespace {

struct driven : test::on_sockets {
    using test::on_sockets::on_sockets;

    struct open_group : group {
        explicit open_group(task& owner) {
            owner_ = &owner;
            data_ = room.data();
        }
        alignas(std::max_align_t) std::array<std::byte, max_group_bytes> room{};
    };
    group& open(worker_id w, task& owner) {
        group& g = groups.emplace_back(owner);
        scheduler->group_begin(w, owner, g);
        return g;
    }
    task& child_in(group& g, std::size_t bytes = 0) {
        task& t = child_of(*g.owner(), bytes);
        t.group_ = &g;
        return t;
    }
    void takes(worker_id w, task& t) {
        ASSERT_EQ(scheduler->next(w, true).t, &t);
        scheduler->started(w, t);
        t.state_ = task_state::running;
    }

    using bytes_of_policy = std::array<std::byte, max_task_bytes>;
    /// What the engine keeps for the frames of `t`, which spawns silently.
    bytes_of_policy bytes_for_frames(worker_id w, task& t) {
        EXPECT_EQ(scheduler->spawn(w, t, child_in(open(w, t))), spawn_order::lazy);
        bytes_of_policy bytes;
        std::memcpy(bytes.data(), static_cast<const void*>(&t + 1), bytes.size());
        return bytes;
    }
    /// `thief` takes a frame, whose record is made where `ended` was.
    task& expose_at(task& ended, const bytes_of_policy& bytes, worker_id thief) {
        ended = {};
        std::memcpy(static_cast<void*>(&ended + 1), bytes.data(), bytes.size());
        scheduler->ready(thief, ended, ready_reason::exposed);
        return ended;
    }

    std::deque<open_group> groups;
};

/// A piece waits for one worker, or for all in a queue of their own, and its loops are not cut.
TEST(policy_frames, are_no_pieces_of_loops) {
    for (const std::string spec : {"static", "dynamic"}) {
        driven p(spec, 1, 2);
        task& loop = p.add(0, ready_reason::root);
        p.takes(0, loop);
        const int pieces = p->pieces(0, loop);
        EXPECT_GT(pieces, 0) << spec;
        task& piece = p.child_in(p.open(0, loop));
        EXPECT_EQ(p->spawn(0, loop, piece), spawn_order::parent_first) << spec;
        p->ready(0, piece, ready_reason::spawned);
        p.takes(0, piece);
        EXPECT_EQ(p->pieces(0, piece), 0) << spec;
        const auto bytes = p.bytes_for_frames(0, piece);
        p->finished(0, piece, {});
        task& frame = p.expose_at(piece, bytes, 1);
        const decision got = p->next(1, true);
        EXPECT_EQ(got.t, &frame) << spec;
        EXPECT_EQ(got.from, 1) << spec;
        EXPECT_EQ(p->pieces(1, frame), pieces) << spec;
    }
}

/// The end of a leaf lets its socket begin another one.
TEST(policy_frames, are_no_leaves_of_cab) {
    driven p("cab:boundary=1", 2, 2);
    task& main = p.add(0, ready_reason::root);
    p.takes(0, main);
    group& all = p.open(0, main);
    const auto offer = [&]() -> task& {
        task& leaf = p.child_in(all);
        EXPECT_EQ(p->spawn(0, main, leaf), spawn_order::parent_first);
        p->ready(0, leaf, ready_reason::spawned);
        return leaf;
    };
    task &first = offer(), &second = offer(), &third = offer();
    p.takes(2, first);
    const auto bytes = p.bytes_for_frames(2, first);
    p->finished(2, first, {});
    p.takes(2, second);
    task& frame = p.expose_at(first, bytes, 3);
    p.takes(3, frame);
    p->finished(3, frame, {});
    EXPECT_EQ(p->next(2, true).t, nullptr); // the second one has not ended
    p->finished(2, second, {});
    p.takes(2, third);
}

/// The first task of a supernode waits until no other supernode is open.
TEST(policy_frames, are_no_tops_of_supernodes) {
    driven p("cpdf:l2=1000,l1=100", 1, 4);
    task& root = p.make();
    root.hint_.bytes = 4000;
    p->ready(0, root, ready_reason::root);
    p.takes(0, root);
    const auto begin = [&](worker_id w, std::size_t bytes) -> task& {
        task& top = p.child_in(p.open(w, root), bytes);
        EXPECT_EQ(p->spawn(w, root, top), spawn_order::child_first);
        root.state_ = task_state::suspended;
        p->ready(w, root, ready_reason::continuation);
        p->started(w, top);
        top.state_ = task_state::running;
        return top;
    };
    task& ended = begin(0, 100);
    const auto bytes = p.bytes_for_frames(0, ended);
    p->finished(0, ended, {});
    p.takes(1, root);
    begin(1, 500);
    EXPECT_EQ(p->next(2, true).t, nullptr); // a supernode is open, so the rest of the root is held back
    p.takes(2, p.expose_at(ended, bytes, 2));
}

} // namespace
} // namespace weft
