#include "policy/seam/policy.hpp"

#include "queue/cell.hpp"
#include "queue/locked_list.hpp"

#include <algorithm>
#include <array>
#include <memory>

/// CAMP: J. C. Saez et al.: A comprehensive scheduler for asymmetric multicore systems. EuroSys 2010; Chen &
/// Guo 2017, 5.3.2.
///
/// An operating system's scheduler of threads: here the threads are tasks with fibers, and a root is an
/// application. The utility factor of an application decides whether it gets the fast cores; applications of
/// HIGH utility share them by turns.
namespace weft::policies::skeletons {
namespace {

enum utility : int { boosted, high, medium, low, utilities };

struct application {
    queue::cell<int> runnable;
    queue::cell<float> speedup;
    queue::cell<time_ns> boosted_until;
    queue::cell<int> now_in; // a utility
};

class camp : public policy {
    static constexpr int applications = 64; // roots beyond share a slot
    static constexpr float lower = 0.1F, upper = 0.5F;
    static constexpr time_ns boost = 10'000'000;

public:
    requirements attach(const machine& m, policy_context& context) override {
        machine_ = &m;
        context_ = &context;
        runs_ = std::make_unique<queue::cell<int>[]>(static_cast<std::size_t>(context.all().size()));
        for (int c = 0; c < m.size(); ++c) fast_cores_ += m.speed_of(c) >= 1.0 ? 1 : 0;
        return {.own_usage = true, .preempts = true, .exchanges = true, .tick = 10'000'000};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        application& a = app(t.root());
        if (reason != ready_reason::preempted && reason != ready_reason::yielded &&
            reason != ready_reason::continuation)
            a.runnable.add(1);
        if (t.hint().speedup > 0) a.speedup.store_relaxed(static_cast<float>(t.hint().speedup));
        queues_[static_cast<std::size_t>(a.now_in.load_relaxed())].push_back(&t);
        return {w, context_->active()};
    }

    decision next(worker_id w, bool) override {
        const bool fast = is_fast(w);
        for (int i = 0; i < utilities; ++i) { // a slow core begins with those that gain least
            const int u = fast ? i : utilities - 1 - i;
            if (task* const t = queues_[static_cast<std::size_t>(u)].try_pop_front()) {
                runs_[static_cast<std::size_t>(w)].store_relaxed(t->root() % applications + 1);
                return {t, context_->all().size() + u};
            }
        }
        runs_[static_cast<std::size_t>(w)].store_relaxed(0);
        return {};
    }

    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

    void blocked(worker_id, task& t, ready_reason) override { one_less(t); }
    void finished(worker_id, task& t, const usage&) override { one_less(t); }

    void tick(time_ns now) override {
        for (application& a : applications_) a.now_in.store_relaxed(classify(a, now));
        const workers all = context_->active();
        for (worker_id f = all.first; f < all.last; ++f) {
            if (!is_fast(f)) continue;
            for (worker_id s = all.first; s < all.last; ++s) {
                if (!is_fast(s) &&
                    utility_on(s) < utility_on(f)) { // an application of lower utility has the fast core
                    context_->exchange(f, s);
                    break;
                }
            }
            if (utility_on(f) == high && !queues_[high].empty()) context_->preempt(f); // the next in turn
        }
    }

private:
    application& app(int root) { return applications_[static_cast<std::size_t>(root % applications)]; }
    bool is_fast(worker_id w) const { return machine_->speed_of(context_->core_of(w)) >= 1.0; }

    int utility_on(worker_id w) { // `utilities` where nothing runs
        const int runs = runs_[static_cast<std::size_t>(w)].load_relaxed();
        return runs == 0 ? utilities : app(runs - 1).now_in.load_relaxed();
    }

    void one_less(const task& t) {
        application& a = app(t.root());
        const bool sequential_phase = a.runnable.add(-1) == 2;
        if (sequential_phase && a.now_in.load_relaxed() == high)
            a.boosted_until.store_relaxed(context_->now() + boost);
    }

    int classify(const application& a, time_ns now) const { // Eq. 5.1
        if (now < a.boosted_until.load_relaxed()) return boosted;
        const auto beyond = static_cast<float>(std::max(1, a.runnable.load_relaxed() - (fast_cores_ - 1)));
        const float factor = a.speedup.load_relaxed() / (beyond * beyond);
        return factor > upper ? high : factor < lower ? low : medium;
    }

    const machine* machine_ = nullptr;
    policy_context* context_ = nullptr;
    int fast_cores_ = 0;
    std::array<application, applications> applications_;
    std::array<queue::locked_list<task>, utilities> queues_;
    std::unique_ptr<queue::cell<int>[]> runs_; // slot of the application + 1, 0: idle
};

[[maybe_unused]] const auto make = [] { return std::make_unique<camp>(); };

} // namespace
} // namespace weft::policies::skeletons
