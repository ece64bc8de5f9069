#include "policy/parts/class_history.hpp"
#include "policy/parts/core_groups.hpp"
#include "policy/parts/fast_cores.hpp"
#include "policy/parts/held_lock.hpp"
#include "policy/parts/places.hpp"
#include "policy/parts/utility_factor.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cell.hpp"
#include "queue/spin_lock.hpp"
#include "task/task_class.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

/// CAMP: fast cores for the applications that gain most by them.
///
///   J. C. Saez, A. Fedorova, M. Prieto, H. Vegas: CAMP, as in Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel
///   Architectures. Springer 2017, 5.3.2.
///
/// An application is a root, its threads are the tasks that descend from it; those that run or could run count. At each
/// quantum the tasks that workers run are put into classes by the utility factor of their application (5.1). Tasks of class
/// HIGH get the fast cores, in turn if there are more of them; what is left goes to MEDIUM, then LOW, which keep the core
/// they have. A parallel application whose one runnable thread is HIGH is in a sequential phase, and comes before all
/// others for a while (SEQUENTIAL_BOOSTED). A task changes cores with its worker, which changes cores with another worker.
///
/// The speedup of a task is what the history of its class says: the ratio of instruction rates where instructions are
/// counted, else that of the speeds of the cores. The book gives no thresholds and no times: they are knobs, their
/// defaults ours.
namespace weft::policies {
namespace {

constexpr knob camp_knobs[] = {
    {"lower", "50", "0..100000", "utility factor below which a task is LOW, in hundredths"},
    {"upper", "100", "0..100000", "utility factor above which a task is HIGH, in hundredths"},
    {"quantum_us", "10000", "1..10000000", "time between two decisions, in microseconds"},
    {"boost", "10", "1..1000000", "quanta for which a sequential phase is boosted (amp_boost_ticks)"},
};

class camp final : public policy {
public:
    camp(double lower, double upper, time_ns quantum, int boost)
        : lower_(lower)
        , upper_(upper)
        , quantum_(quantum)
        , boost_(boost) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        groups_.attach(m, context);
        history_ = std::make_unique<class_history>(groups_.speeds());
        applications_ = std::make_unique<application[]>(most_applications);
        order_.resize(static_cast<std::size_t>(context.all().size()));
        candidates_.resize(order_.size());
        return {.task_bytes = sizeof(own),
                .own_usage = true,
                .own_misses = true,
                .demotable = true,
                .resizable = true,
                .snapshots = true,
                .exchanges = true,
                .tick = quantum_};
    }

    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        counts(t, true);
        return places_.put(w, t, reason);
    }
    decision next(worker_id w, bool last_look) override {
        if (const decision found = places_.own(w, last_look); found.t != nullptr) return found;
        return places_.look_outside(w, last_look, false);
    }
    workers victims(worker_id) override { return context_->all(); }

    void blocked(worker_id, task& t, ready_reason reason) override {
        if (!goes_behind(reason)) counts(t, false);
    }
    void resumed(worker_id, task& t) override { counts(t, true); }
    void finished(worker_id w, task& t, const usage& used) override {
        counts(t, false);
        if (!used.cancelled) history_->completed(history_->find_or_add(class_of(t)), groups_.of(w), used);
    }

    void tick(time_ns) override {
        if (groups_.count() < 2) return;
        const held_lock held(deciding_);
        ++turn_;
        const workers all = context_->all();
        int high = 0;
        for (worker_id w = all.first; w < all.last; ++w) {
            candidate& c = candidates_[static_cast<std::size_t>(w)];
            c = {w, groups_.of(w), -1, 0};
            const snapshot s = context_->running(w);
            if (!s.busy) continue;
            c.importance = static_cast<int>(class_now(s));
            if (c.importance == static_cast<int>(utility_class::high)) c.in_turn = high++;
        }
        const int fast = std::max(1, groups_.workers_in(0));
        // Those of HIGH whose turn it is come first; where all of them have room, none of them moves.
        const auto key = [&](const candidate& c) {
            const bool shares = c.importance == static_cast<int>(utility_class::high) && high > fast;
            return std::tuple(-c.importance,
                              shares ? (c.in_turn - turn_ * fast % high + high) % high : c.group, c.w);
        };
        std::ranges::sort(candidates_, {}, key);
        std::ranges::transform(candidates_, order_.begin(), &candidate::w);
        give_fast_cores(*context_, groups_, order_);
    }

private:
    static constexpr int most_applications = 256;
    struct own {
        bool is_counted;
    };
    struct application { // roots whose numbers differ by a multiple of most_applications share one
        queue::cell<int> runnable;
        queue::cell<bool> was_parallel;
        int boosted = 0; ///< quanta so far of the present sequential phase; guarded by deciding_
    };
    struct candidate {
        worker_id w = 0;
        int group = 0, importance = -1, in_turn = 0;
    };

    application& of(int root) noexcept {
        return applications_[static_cast<std::size_t>(root) % static_cast<std::size_t>(most_applications)];
    }

    void counts(task& t, bool runs) noexcept {
        if (std::exchange(t.data<own>().is_counted, runs) == runs) return;
        application& a = of(t.root());
        if (a.runnable.add(runs ? 1 : -1) + (runs ? 1 : -1) > 1) a.was_parallel.store_relaxed(true);
    }

    double speedup(std::uint64_t of_class) const noexcept {
        const int slowest = groups_.count() - 1;
        const auto c = history_->find_or_add(of_class);
        const auto fast = history_->time(c, 0), slow = history_->time(c, slowest);
        return fast && slow ? *slow / *fast : groups_.speed(0) / groups_.speed(slowest);
    }

    /// SF of the application: the mean of its tasks that run.
    utility_class class_now(const snapshot& s) {
        double sum = 0;
        int n = 0;
        const workers all = context_->all();
        for (worker_id w = all.first; w < all.last; ++w)
            if (const snapshot other = context_->running(w); other.busy && other.root == s.root) {
                sum += speedup(other.of_class);
                ++n;
            }
        application& a = of(s.root);
        const int runnable = std::max(1, a.runnable.load_relaxed());
        const double factor = utility_factor(n > 0 ? sum / n : speedup(s.of_class), runnable,
                                             std::max(1, groups_.workers_in(0)));
        const utility_class found = utility_class_of(factor, lower_, upper_);
        if (runnable > 1 || !a.was_parallel.load_relaxed()) {
            a.boosted = 0;
            return found;
        }
        return found == utility_class::high && a.boosted++ < boost_ ? utility_class::boosted : found;
    }

    const double lower_, upper_;
    const time_ns quantum_;
    const int boost_;
    policy_context* context_ = nullptr;
    places places_;
    core_groups groups_;
    std::unique_ptr<class_history> history_;
    std::unique_ptr<application[]> applications_;
    queue::spin_lock<> deciding_;
    int turn_ = 0; // guarded by deciding_, as what follows
    std::vector<candidate> candidates_;
    std::vector<worker_id> order_;
};

} // namespace

extern constinit const policy_entry camp_entry{
    .name = "camp",
    .summary = "fast cores for the applications that gain most by them",
    .source = "Chen & Guo 2017, 5.3.2; Saez et al.",
    .helps = "several programs or roots of long tasks at once, on unequal cores",
    .knobs = camp_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<camp>(static_cast<double>(values.integer("lower")) / 100,
                                      static_cast<double>(values.integer("upper")) / 100,
                                      values.integer("quantum_us") * 1000,
                                      static_cast<int>(values.integer("boost")));
    },
};

} // namespace weft::policies
