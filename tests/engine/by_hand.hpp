#pragma once

#include "policy/seam/policy.hpp"
#include "queue/locked_list.hpp"

#include <cstddef>
#include <memory>

namespace weft::test {

/// Places by hand: a child goes to the worker that its hint names as its priority, and stays there. Each worker runs
/// its own tasks, the oldest first.
class by_hand final : public policy {
public:
    requirements attach(const machine&, policy_context& context) override {
        places_ =
            std::make_unique<queue::locked_list<task>[]>(static_cast<std::size_t>(context.all().size()));
        return {};
    }
    placement ready(worker_id w, task& t, ready_reason reason) override {
        const worker_id to = reason == ready_reason::spawned ? t.hint().priority : w;
        places_[static_cast<std::size_t>(to)].push_back(&t);
        return {to, {to, to + 1}};
    }
    decision next(worker_id w, bool) override {
        return {places_[static_cast<std::size_t>(w)].pop_front(), w};
    }
    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

private:
    std::unique_ptr<queue::locked_list<task>[]> places_;
};

} // namespace weft::test
