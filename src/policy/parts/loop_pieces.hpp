#pragma once

#include "policy/parts/fair_turns.hpp"
#include "policy/parts/places.hpp"
#include "policy/seam/knobs.hpp"

#include "queue/cache_line.hpp"
#include "queue/locked_list.hpp"

#include <weft/impl/group.hpp>

#include <cstdint>
#include <memory>
#include <utility>

/// A policy that cuts loops into equal pieces at once, as OpenMP does, and steals everything else: `static`
/// and `dynamic`.
///
/// A parallel_for of a reported task asks for pieces() and then spawns that many children of one group, in
/// the order of the iterations. So pieces() marks the task, the mark goes to its next group, and the children
/// of that group are pieces. What is below a piece is silent: a loop in a loop is divided lazily. Everything
/// else is child-first random stealing in the reported zone, since a loop may come anywhere.
///
/// A loop is dealt out to the workers that are active when it begins. What lies at a worker that is no longer active is taken by any
/// other one. It is found: an announcement for an inactive worker is one for all active ones, and when workers become inactive resized()
/// wakes the others, whose looks see what lay there before.
namespace weft {

class loop_pieces : public policy {
public:
    enum class dealt : std::uint8_t {
        in_turn,   ///< piece i to worker i modulo the number of workers, and to no other worker
        on_demand, ///< in their order, each to the worker that asks first
    };
    /// Where the outermost tasks run, which are all that is outside of loops in a program that has nothing but loops.
    enum class outermost : std::uint8_t {
        anywhere,
        on_the_first, ///< on worker 0, also after a wait, as the initial thread of OpenMP
    };
    static constexpr knob outermost_knob = {
        "outermost", "anywhere", "anywhere, first",
        "where outermost tasks run, also after a wait: on any worker, or on the "
        "first one, as the initial thread of OpenMP"};

    loop_pieces(dealt how, int pieces_a_worker, outermost where = outermost::anywhere)
        : how_(how)
        , where_(where)
        , pieces_a_worker_(pieces_a_worker) {}

    requirements attach(const machine&, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        mine_ = std::make_unique<worker_part[]>(static_cast<std::size_t>(context.all().size()));
        return {.task_bytes = sizeof(task_part),
                .group_bytes = sizeof(group_part),
                .demotable = true,
                .resizable = true};
    }
    void resized(workers active) override { context_->wake(active); }

    int pieces(worker_id, task& loop) override {
        auto& own = loop.data<task_part>();
        if (own.piece == &loop) return 0;
        own.workers_of_loop = context_->active().size();
        return pieces_a_worker_ * own.workers_of_loop;
    }

    void group_begin(worker_id, task& owner, group& g) override {
        g.data<group_part>().workers = std::exchange(owner.data<task_part>().workers_of_loop, 0);
    }

    spawn_order spawn(worker_id, task& parent, task& child) override {
        if (parent.data<task_part>().piece == &parent) return spawn_order::lazy;
        const int among =
            child.parent_group() == nullptr ? 0 : child.parent_group()->data<group_part>().workers;
        if (among == 0) return spawn_order::child_first;
        auto& own = child.data<task_part>();
        own.piece = &child;
        own.home = child.index() % among;
        return spawn_order::parent_first;
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        auto& own = t.data<task_part>();
        // A frame has the bytes of its task, and may lie where an ended piece of these bytes lay.
        if (reason == ready_reason::exposed && t.fresh()) own.piece = own.on_first = nullptr;
        if (reason == ready_reason::root && where_ == outermost::on_the_first) own.on_first = &t;
        if (own.on_first == &t) return put_at(w, t, reason, 0);
        if (own.piece != &t) return places_.put(w, t, reason); // also the frames of a piece
        if (how_ == dealt::on_demand) {
            if (!t.fresh()) return places_.put(w, t, reason);
            shared_.push_back(&t);
            return {shared_place(), context_->active()};
        }
        return put_at(w, t, reason, own.home);
    }

    decision next(worker_id w, bool last_look) override {
        worker_part& me = of(w);
        const bool others_first = me.after_others || me.turns.begin() != turn::usual;
        me.after_others = false;
        if (others_first)
            if (const decision p = places_.own(w, last_look); p.t != nullptr) return p;
        if (me.turns.sees_only_yields() && !last_look)
            me.turns.looked_elsewhere(); // pieces that only yield to each other: one look elsewhere
        else if (task* const t = me.pieces.try_pop_front())
            return {t, w};
        if (!others_first)
            if (const decision p = places_.own(w, last_look); p.t != nullptr) return p;
        if (task* const t = shared_.try_pop_front()) return {t, shared_place()};
        const workers all = context_->all();
        for (worker_id v = context_->active().last; v < all.last; ++v)
            if (task* const t = of(v).pieces.try_pop_front()) return {t, v};
        return places_.look_outside(w, last_look, true);
    }

    workers victims(worker_id) override { return context_->all(); }

private:
    struct task_part {
        const task* piece;    ///< the task itself, if it is a piece; its frames have a copy of that
        const task* on_first; ///< likewise, if it is an outermost one that stays on the first worker
        std::int32_t home;    ///< of a piece, with in_turn: its worker
        std::int32_t
            workers_of_loop; ///< above 0: its next group is that of a loop, which is dealt out to so many
    };
    struct group_part {
        std::int32_t workers; ///< that its children are dealt out to; 0: it is not that of a loop
    };
    struct alignas(queue::k_cache_line_bytes) worker_part {
        queue::locked_list<task> pieces; // any worker puts in, its own takes; any one, if its own is inactive
        fair_turns turns;                // only the worker touches it, and what follows
        bool after_others = false;       // a piece has just yielded
    };

    /// For the worker `at` alone.
    placement put_at(worker_id w, task& t, ready_reason reason, worker_id at) {
        worker_part& home = of(at);
        if (goes_behind(reason)) {
            of(w).turns.yielded();
            of(w).after_others = true;
            home.pieces.push_back(&t);
        } else if (t.fresh()) {
            home.pieces.push_back(&t);
        } else {
            home.pieces.push_front(&t);
        }
        return {at, {at, at + 1}}; // once it is in a queue, another worker may run it
    }

    worker_part& of(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }
    place_id shared_place() const noexcept { return places_.root_place() + 1; }

    const dealt how_;
    const outermost where_;
    const int pieces_a_worker_;
    policy_context* context_ = nullptr;
    places places_;
    std::unique_ptr<worker_part[]> mine_;
    queue::locked_list<task> shared_; // pieces, on_demand
};

} // namespace weft
