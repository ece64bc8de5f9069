#include "policy/parts/core_groups.hpp"
#include "policy/parts/held_lock.hpp"
#include "policy/parts/places.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/spin_lock.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

/// Random task snatching (RTS): random stealing, and a fast core that finds nothing takes over what a slow core runs.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.3.1 and 5.10.1; after
///   M. A. Bender, M. O. Rabin: Online scheduling of parallel programs on heterogeneous systems. 2002.
///
/// A worker runs and steals as under `steal`. When it cannot steal, it draws one of the busy workers on slower cores, and
/// the two change cores: the task goes on on the fast core. "Cannot steal" means `tries` looks in a row that found nothing;
/// a look that asks for a hidden entry counts when the engine calls again, which says that the ask came back empty. A last
/// look, after which the worker sleeps, counts in any case. A task that begins on a slow core while a worker on a faster
/// core sleeps wakes it, since in the book idle cores never sleep.
///
/// No worker knows how long tasks take, so the snatched one may be about to end: 5.3.1 says when it pays
/// (parts/snatching.hpp).
namespace weft::policies {
namespace {

constexpr knob snatch_knobs[] = {
    zone_knob(),
    {"tries", "0", "0..1000000",
     "looks in a row that find nothing, after which a faster core snatches; 0: one less than there are "
     "workers"},
};

class snatching final : public policy {
public:
    snatching(bool lazy, int tries) : lazy_(lazy), tries_(tries) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        groups_.attach(m, context);
        if (tries_ == 0) tries_ = std::max(1, context.all().size() - 1);
        mine_ = std::make_unique<own[]>(static_cast<std::size_t>(context.all().size()));
        return {.lazy = lazy_, .demotable = true, .resizable = true, .snapshots = true, .exchanges = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override { return places_.put(w, t, reason); }

    decision next(worker_id w, bool last_look) override {
        own& me = at(w);
        if (me.sleeps.load_relaxed()) me.sleeps.store_relaxed(false); // only this worker sets it
        const bool ask_has_failed = std::exchange(me.snatches_next, false);
        decision found = places_.own(w, last_look);
        if (found.t == nullptr) {
            if (ask_has_failed) snatch(w);
            found = places_.look_outside(w, last_look, lazy_);
        }
        if (found.t != nullptr || places_.keeps_behind(w)) {
            me.failures = 0;
        } else if (last_look) {
            // Before the look at what the others run: a task that begins later finds the mark (wake_faster()).
            me.sleeps.exchange(true);
            snatch(w);
        } else if (++me.failures >= tries_) {
            me.failures = 0;
            if (found.ask)
                me.snatches_next = true;
            else
                snatch(w);
        }
        return found;
    }

    // Inactive workers too, so that what they still hold is found.
    workers victims(worker_id) override { return context_->all(); }

    spawn_order spawn(worker_id, task&, task&) override {
        return lazy_ ? spawn_order::lazy : spawn_order::child_first;
    }

    void started(worker_id w, task&) override { wake_faster(w); }
    void resumed(worker_id w, task&) override { wake_faster(w); }

private:
    struct alignas(queue::k_cache_line_bytes) own {
        int failures = 0;           ///< looks in a row that found nothing
        bool snatches_next = false; ///< unless the ask that is under way brings something
        queue::cell<bool> sleeps;   ///< its last look found nothing
    };

    own& at(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }

    bool can_be_snatched(worker_id w, worker_id v) const {
        return v != w && groups_.is_faster(w, v) && context_->running(v).busy;
    }

    /// Two workers that would snatch from each other's victim do so one after the other: the second sees the new cores.
    void snatch(worker_id w) {
        const held_lock held(snatching_);
        std::uint32_t candidates = 0;
        const workers all = context_->all();
        for (worker_id v = all.first; v < all.last; ++v) candidates += can_be_snatched(w, v) ? 1 : 0;
        if (candidates == 0) return;
        auto left = context_->random(w, candidates);
        for (worker_id v = all.first; v < all.last; ++v)
            if (can_be_snatched(w, v) && left-- == 0) {
                context_->exchange(w, v);
                return;
            }
    }

    /// `w` has come to a task, as snapshots say already. A mark that is read late costs time and nothing else.
    void wake_faster(worker_id w) {
        const workers active = context_->active();
        for (worker_id v = active.first; v < active.last; ++v)
            if (at(v).sleeps.load_acquire() && groups_.is_faster(v, w)) { // pairs with the exchange in next()
                at(v).sleeps.store_relaxed(false);
                return context_->wake({v, v + 1});
            }
    }

    const bool lazy_;
    int tries_;
    policy_context* context_ = nullptr;
    places places_;
    core_groups groups_;
    std::unique_ptr<own[]> mine_;
    queue::spin_lock<> snatching_;
};

} // namespace

extern constinit const policy_entry snatch_entry{
    .name = "snatch",
    .summary = "random stealing; an idle fast core takes over what a slow core runs",
    .source = "Chen & Guo 2017, 5.3.1 and 5.10.1",
    .helps = "machines with unequal cores, and tasks that are long against an exchange of cores",
    .knobs = snatch_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<snatching>(values.is("zone", "lazy"),
                                           static_cast<int>(values.integer("tries")));
    },
};

} // namespace weft::policies
