#include "policy/parts/core_groups.hpp"
#include "policy/parts/core_snatching.hpp"
#include "policy/parts/places.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"

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
/// the two change cores: the task goes on on the fast core (parts/core_snatching.hpp). "Cannot steal" means `tries` looks in a
/// row that found nothing; a look that asks for a hidden entry counts when the engine calls again, which says that the ask came
/// back empty. A last look, after which the worker sleeps, counts in any case.
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
        snatching_.attach(groups_, context);
        if (tries_ == 0) tries_ = std::max(1, context.all().size() - 1);
        mine_ = std::make_unique<own[]>(static_cast<std::size_t>(context.all().size()));
        return {.lazy = lazy_, .demotable = true, .resizable = true, .snapshots = true, .exchanges = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override { return places_.put(w, t, reason); }

    decision next(worker_id w, bool last_look) override {
        own& me = mine_[static_cast<std::size_t>(w)];
        snatching_.looks(w);
        const bool ask_has_failed = std::exchange(me.snatches_next, false);
        decision found = places_.own(w, last_look);
        if (found.t == nullptr) {
            if (ask_has_failed) snatch(w);
            found = places_.look_outside(w, last_look, lazy_);
        }
        if (found.t != nullptr || places_.keeps_behind(w)) {
            me.failures = 0;
        } else if (last_look) {
            snatching_.sleeps(w);
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

    void started(worker_id w, task&) override { snatching_.comes_to_a_task(w); }
    void resumed(worker_id w, task&) override { snatching_.comes_to_a_task(w); }

private:
    struct alignas(queue::k_cache_line_bytes) own {
        int failures = 0;           ///< looks in a row that found nothing
        bool snatches_next = false; ///< unless the ask that is under way brings something
    };

    /// How long tasks take is not known, so any of them is as large as the others.
    void snatch(worker_id w) {
        snatching_.snatch(w, [](const snapshot&) { return 0.0; });
    }

    const bool lazy_;
    int tries_;
    policy_context* context_ = nullptr;
    places places_;
    core_groups groups_;
    core_snatching snatching_;
    std::unique_ptr<own[]> mine_;
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
