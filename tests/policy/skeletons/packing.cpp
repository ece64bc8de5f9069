#include "policy/seam/policy.hpp"

#include "queue/locked_list.hpp"

#include <memory>

/// Thread packing: S. Shiina, master's thesis, University of Tokyo 2021, 3.3.3, Algorithm 3.1, with its
/// bounds corrected (pools counted from 0, half-open).
///
/// Threads made for N workers run on the n that are active. Every pool but N mod n has one worker; the rest
/// are shared by all, and each worker takes from its private and from the shared ones by turns.
namespace weft::policies::skeletons {
namespace {

class packing : public policy {
    struct bytes {
        int home_plus_1; // zero at birth: none so far
    };

public:
    requirements attach(const machine&, policy_context& context) override {
        context_ = &context;
        total_ = context.all().size();
        pools_ = std::make_unique<queue::locked_list<task>[]>(static_cast<std::size_t>(total_));
        turns_ = std::make_unique<turn[]>(static_cast<std::size_t>(total_));
        return {.task_bytes = sizeof(bytes), .resizable = true, .preempts = true};
    }

    /// A thread returns to its home pool, whichever worker ran it.
    placement ready(worker_id w, task& t, ready_reason reason) override {
        int& home = t.data<bytes>().home_plus_1;
        if (home == 0) home = (reason == ready_reason::spawned ? t.index() % total_ : w) + 1;
        pools_[static_cast<std::size_t>(home - 1)].push_back(&t);
        const bool shared = home - 1 >= private_pools();
        const worker_id owner = (home - 1) % context_->active().size();
        return {home - 1, shared ? context_->active() : workers{owner, owner + 1}};
    }

    decision next(worker_id w, bool) override {
        turn& mine = turns_[static_cast<std::size_t>(w)];
        mine.shared_first = !mine.shared_first;
        const decision first = mine.shared_first ? from_shared(mine) : from_private(w, mine);
        if (first.t != nullptr) return first;
        return mine.shared_first ? from_private(w, mine) : from_shared(mine);
    }

    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

    // Pools change their owners with the number of active workers, so all look again. A worker that is to
    // become inactive gives its thread back.
    void resized(workers active) override {
        for (worker_id w = active.last; w < total_; ++w) context_->preempt(w);
        context_->wake(active);
    }

private:
    struct alignas(64) turn { // of one worker
        bool shared_first = true;
        int start =
            0; // rotates; otherwise a thread that spins in the first pool would keep the others from running
    };

    int private_pools() const { // read anew each time: the number of active workers changes
        const int active = context_->active().size();
        return active * (total_ / active);
    }

    decision from_private(worker_id w, turn& mine) {
        const int active = context_->active().size();
        const int count = total_ / active;
        if (w >= active) return {};
        for (int i = 0; i < count; ++i) {
            const int pool = w + (mine.start + i) % count * active;
            if (task* const t = pools_[static_cast<std::size_t>(pool)].try_pop_front()) {
                mine.start = (mine.start + i + 1) % count;
                return {t, pool};
            }
        }
        return {};
    }

    decision from_shared(turn& mine) {
        const int first = private_pools();
        const int count = total_ - first;
        for (int i = 0; i < count; ++i) {
            const int pool = first + (mine.start + i) % count;
            if (task* const t = pools_[static_cast<std::size_t>(pool)].try_pop_front()) return {t, pool};
        }
        return {};
    }

    policy_context* context_ = nullptr;
    int total_ = 0;
    std::unique_ptr<queue::locked_list<task>[]> pools_;
    std::unique_ptr<turn[]> turns_;
};

[[maybe_unused]] const auto make = [] { return std::make_unique<packing>(); };

} // namespace
} // namespace weft::policies::skeletons
