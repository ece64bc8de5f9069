#pragma once

#include "policy/parts/core_groups.hpp"
#include "policy/parts/held_lock.hpp"
#include "policy/parts/places.hpp"
#include "policy/seam/policy.hpp"

#include "queue/spin_lock.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

/// Critical sections on fast cores: what ACS and BIS share. A policy says which locks are worth it.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.3.6.
///
/// A task that has got such a lock on a slow core changes cores with a worker on one of the fastest cores, an idle one if there
/// is one. It keeps that core until it gives back its last lock, blocks or ends; then the worker gets the core back that it had.
/// A fast core serves one critical section at a time; if all of them serve, the task goes on where it is. Each exchange costs
/// what the machine says, which stands for the migration of the section there and back.
///
/// Tasks run and are stolen at random, each on a stack of its own, so that what a worker has is what its task holds. A lock that
/// another task gives back than the one that took it counts for that one until it ends.
namespace weft {

class critical_sections : public policy {
public:
    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        groups_.attach(m, context);
        serves_.assign(static_cast<std::size_t>(m.size()), false);
        former_.assign(static_cast<std::size_t>(context.all().size()), nowhere);
        return {.task_bytes = sizeof(own),
                .resizable = true,
                .snapshots = true,
                .exchanges = true,
                .locks = true};
    }

    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }
    placement ready(worker_id w, task& t, ready_reason reason) override { return places_.put(w, t, reason); }
    decision next(worker_id w, bool last_look) override {
        if (const decision found = places_.own(w, last_look); found.t != nullptr) return found;
        return places_.look_outside(w, last_look, false);
    }
    workers victims(worker_id) override { return context_->all(); }

    void lock_taken(worker_id w, task& t, std::uint32_t lock) override {
        own& of = t.data<own>();
        ++of.locks;
        of.is_critical = of.is_critical || is_critical(lock);
        if (of.is_critical) begin(w);
    }
    void lock_released(worker_id w, task& t, std::uint32_t) override {
        own& of = t.data<own>();
        if (of.locks == 0 || --of.locks > 0) return;
        of.is_critical = false;
        end(w);
    }
    void blocked(worker_id w, task&, ready_reason) override { end(w); }
    void resumed(worker_id w, task& t) override {
        if (t.data<own>().is_critical) begin(w);
    }
    void finished(worker_id w, task&, const usage&) override { end(w); }

protected:
    /// Whether the critical section that a task is about to run under this lock gets a fast core.
    virtual bool is_critical(std::uint32_t lock) = 0;

    policy_context& context() const noexcept { return *context_; }
    const core_groups& groups() const noexcept { return groups_; }

private:
    struct own {
        int locks;        ///< that the task holds
        bool is_critical; ///< one of them
    };
    static constexpr int nowhere = -1;

    static std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }

    void begin(worker_id w) {
        const held_lock held(exchanging_);
        if (former_[at(w)] != nowhere || groups_.of(w) == 0) return;
        worker_id chosen = -1;
        const workers all = context_->all();
        for (worker_id f = all.first; f < all.last; ++f) {
            if (groups_.of(f) != 0 || serves_[at(context_->core_of(f))]) continue;
            const bool idle = !context_->running(f).busy;
            if (chosen < 0 || idle) chosen = f;
            if (idle) break;
        }
        if (chosen < 0) return;
        const int slow = context_->core_of(w);
        if (!context_->exchange(w, chosen)) return;
        former_[at(w)] = slow;
        serves_[at(context_->core_of(w))] = true;
    }
    void end(worker_id w) {
        const held_lock held(exchanging_);
        const int back = former_[at(w)];
        if (back == nowhere) return;
        former_[at(w)] = nowhere;
        serves_[at(context_->core_of(w))] = false;
        const workers all = context_->all();
        for (worker_id v = all.first; v < all.last; ++v)
            if (context_->core_of(v) == back) {
                context_->exchange(w, v);
                return;
            }
    }

    policy_context* context_ = nullptr;
    places places_;
    core_groups groups_;
    queue::spin_lock<> exchanging_;
    std::vector<bool> serves_; ///< by core; guarded by exchanging_, as is the next one
    std::vector<int> former_;  ///< by worker: the core that it had before its critical section
};

} // namespace weft
