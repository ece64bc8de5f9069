#include "policy/parts/places.hpp"

#include <memory>

/// Random task snatching: M. A. Bender, M. O. Rabin: Scheduling Cilk multithreaded parallel programs on
/// processors of different speeds. SPAA 2000; Chen & Guo 2017, 5.3.1 and 5.10.1.
///
/// Random stealing. A worker on a faster core that cannot steal anything changes cores with a random worker
/// that is busy on a slower one.
namespace weft::policies::skeletons {
namespace {

class snatch : public policy {
public:
    requirements attach(const machine& m, policy_context& context) override {
        machine_ = &m;
        context_ = &context;
        places_.attach(context);
        return {.lazy = true, .exchanges = true, .snapshots = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override { return places_.put(w, t, reason); }

    decision next(worker_id w, bool last_look) override {
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        const worker_id victim = places_.random_victim(w);
        if (victim < 0) return {};
        if (!last_look) {
            const places::look_result found = places_.look(victim);
            return {found.t, victim, found.t == nullptr && !found.lost};
        }
        // The last look comes when all asks have come back empty, so "cannot steal" has been tried with
        // hidden frames as well.
        if (const decision found = places_.look_everywhere(w, victim); found.t != nullptr) return found;
        if (const worker_id slower = slower_and_busy(w, victim); slower >= 0) context_->exchange(w, slower);
        return {};
    }

    workers victims(worker_id) override { return context_->all(); }

private:
    double speed(worker_id w) const {
        return machine_->speed_of(context_->core_of(w));
    } // may change: never kept

    worker_id slower_and_busy(worker_id w, worker_id first) const {
        const int count = context_->all().size();
        for (int i = 0; i < count; ++i) {
            const worker_id v = (first + i) % count;
            if (v != w && speed(v) < speed(w) && context_->running(v).id != 0) return v;
        }
        return -1;
    }

    const machine* machine_ = nullptr;
    policy_context* context_ = nullptr;
    places places_;
};

[[maybe_unused]] const auto make = [] { return std::make_unique<snatch>(); };

} // namespace
} // namespace weft::policies::skeletons
