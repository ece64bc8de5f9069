#include "policy/parts/class_history.hpp"
#include "policy/parts/core_groups.hpp"
#include "policy/parts/held_lock.hpp"
#include "policy/parts/places.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"
#include "queue/spin_lock.hpp"
#include "task/task_class.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

/// Bias scheduling: each task on the kind of core that it is biased to.
///
///   D. Koufaty, D. Reddy, S. Hahn: Bias scheduling in heterogeneous multi-core architectures. EuroSys 2010, as in Q. Chen,
///   M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.3.3.
///
/// A task has a big-core bias if its class gains much by a fast core, a small-core bias if it gains little, and none else.
/// The book tells the two apart by counters of stalls inside and outside of the core. The engines have none, so the gain is
/// taken from the history of the class: the ratio of its instruction rates on the fastest and the slowest cores where
/// instructions are counted, relative to the ratio of the speeds. Where they are not, no task has a bias.
///
/// Imbalanced: an idle worker takes tasks of its core's bias first, from its own places and from a victim's, then any other.
/// Balanced: at each check, a task of small-core bias that a worker on the fastest cores runs changes cores with one of
/// big-core bias on a slower core. Where a task begins is as without the policy.
namespace weft::policies {
namespace {

constexpr knob bias_knobs[] = {
    {"big", "75", "0..100",
     "part of the speeds' ratio, in hundredths, above which the gain is a big-core bias"},
    {"small", "25", "0..100", "likewise, below which it is a small-core bias"},
    {"check_us", "10000", "1..10000000", "time between two checks, in microseconds"},
};

class bias final : public policy {
public:
    bias(double big, double small, time_ns check) : big_(big), small_(small), check_(check) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        for (places& p : of_) p.attach(context);
        groups_.attach(m, context);
        history_ = std::make_unique<class_history>(groups_.speeds());
        return {.own_usage = true,
                .own_misses = true,
                .demotable = true,
                .resizable = true,
                .snapshots = true,
                .exchanges = true,
                .tick = check_};
    }

    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        return of(bias_of(class_of(t)) == kind::small ? kind::small : kind::big).put(w, t, reason);
    }

    decision next(worker_id w, bool last_look) override {
        const bool fast = groups_.of(w) == 0;
        places &first = of(fast ? kind::big : kind::small), &second = of(fast ? kind::small : kind::big);
        for (places* p : {&first, &second})
            if (const decision own = p->own(w, last_look); own.t != nullptr) return own;
        const worker_id victim = first.random_victim(w);
        if (victim < 0) return {};
        for (places* p : {&first, &second}) {
            const decision found =
                last_look ? p->look_everywhere(w, victim) : decision{p->look(victim).t, victim};
            if (found.t != nullptr || (!last_look && p == &second)) return found;
        }
        return {};
    }
    workers victims(worker_id) override { return context_->all(); }

    void finished(worker_id w, task& t, const usage& used) override {
        if (!used.cancelled) history_->completed(history_->find_or_add(class_of(t)), groups_.of(w), used);
    }

    void tick(time_ns) override {
        if (groups_.count() < 2) return;
        const held_lock held(checking_);
        const workers all = context_->all();
        for (worker_id on_fast = all.first; on_fast < all.last; ++on_fast) {
            if (groups_.of(on_fast) != 0 || !runs(on_fast, kind::small)) continue;
            for (worker_id on_slow = all.first; on_slow < all.last; ++on_slow)
                if (groups_.is_faster(on_fast, on_slow) && runs(on_slow, kind::big)) {
                    context_->exchange(on_fast, on_slow);
                    break;
                }
        }
    }

private:
    enum class kind : std::uint8_t { big, small, none };

    places& of(kind k) noexcept { return of_[static_cast<std::size_t>(k)]; }

    kind bias_of(std::uint64_t of_class) const noexcept {
        const int slowest = groups_.count() - 1;
        const auto c = history_->find_or_add(of_class);
        if (slowest == 0 || c == class_history::no_class ||
            history_->source(c) == class_history::rate_source::speed)
            return kind::none;
        const auto fast = history_->time(c, 0), slow = history_->time(c, slowest);
        if (!fast || !slow) return kind::none;
        const double most = groups_.speed(0) / groups_.speed(slowest) - 1, gain = (*slow / *fast - 1) / most;
        return gain > big_ ? kind::big : gain < small_ ? kind::small : kind::none;
    }
    bool runs(worker_id w, kind k) const {
        const snapshot s = context_->running(w);
        return s.busy && bias_of(s.of_class) == k;
    }

    const double big_, small_;
    const time_ns check_;
    policy_context* context_ = nullptr;
    places of_[2]; ///< tasks of small-core bias are in the second
    core_groups groups_;
    std::unique_ptr<class_history> history_;
    queue::spin_lock<> checking_;
};

} // namespace

extern constinit const policy_entry bias_entry{
    .name = "bias",
    .summary = "tasks that gain little by a fast core leave it to others",
    .source = "Chen & Guo 2017, 5.3.3; Koufaty et al., EuroSys 2010",
    .helps = "unequal cores, and tasks of which some compute and some wait for memory",
    .knobs = bias_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<bias>(static_cast<double>(values.integer("big")) / 100,
                                      static_cast<double>(values.integer("small")) / 100,
                                      values.integer("check_us") * 1000);
    },
};

} // namespace weft::policies
