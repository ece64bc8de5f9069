#include "policy/parts/critical_sections.hpp"
#include "policy/seam/registry.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

/// BIS: the critical sections for which tasks wait longest run on fast cores.
///
///   J. A. Joao, M. A. Suleman, O. Mutlu, Y. N. Patt: Bottleneck identification and scheduling in multithreaded applications.
///   ASPLOS 2012, as in Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.3.6.
///
/// BIS counts the cycles that threads wait at each bottleneck, and accelerates the most critical ones. Here: for each lock, the
/// sum over its waiting tasks of how long they have waited so far. A lock is critical if fewer locks have a greater sum
/// than there are fast cores, and its own is at least `waited_ns`. The hardware keeps the sums in a table; here the table has
/// the first `most_locks` locks of the program, and each sum is halved every `forget_us`, so that a phase is forgotten. The book
/// has no figures for either: the defaults are ours.
namespace weft::policies {
namespace {

constexpr knob bis_knobs[] = {
    {"waited_ns", "1", "1..1000000000", "least time that tasks have waited for a lock which is accelerated"},
    {"forget_us", "0", "0..1000000000",
     "time after which waits count half, in microseconds; 0: they count for ever"},
};

class bis final : public critical_sections {
public:
    bis(double waited_ns, time_ns forget) : least_(waited_ns), forget_(forget) {}

    void lock_waits(worker_id, task&, std::uint32_t lock) override {
        if (lock >= most_locks) return;
        const held_lock held(measuring_);
        sum(table_[lock]);
        ++table_[lock].waiting;
    }
    void lock_released(worker_id w, task& t, std::uint32_t lock) override {
        if (lock < most_locks) {
            const held_lock held(measuring_);
            sum(table_[lock]);
            if (table_[lock].waiting > 0) --table_[lock].waiting; // the first one gets it
        }
        critical_sections::lock_released(w, t, lock);
    }

private:
    static constexpr std::size_t most_locks = 1024;
    struct bottleneck {
        int waiting = 0;   ///< tasks
        time_ns since = 0; ///< that `waited` is the sum
        double waited = 0; ///< ns
    };

    bool is_critical(std::uint32_t lock) override {
        if (lock >= most_locks) return false;
        const held_lock held(measuring_);
        for (bottleneck& b : table_) sum(b);
        if (table_[lock].waited < least_) return false;
        const auto greater = std::ranges::count_if(
            table_, [&](const bottleneck& b) { return b.waited > table_[lock].waited; });
        return greater < std::max(1, groups().workers_in(0));
    }

    void sum(bottleneck& b) {
        const time_ns now = context().now();
        b.waited += static_cast<double>(b.waiting) * static_cast<double>(now - b.since);
        b.since = now;
        if (forget_ == 0) return;
        for (; halved_ + forget_ <= now; halved_ += forget_)
            for (bottleneck& each : table_) each.waited /= 2;
    }

    const double least_;
    const time_ns forget_;
    queue::spin_lock<> measuring_;
    std::array<bottleneck, most_locks>
        table_{};        ///< by number of the lock; guarded by measuring_, as is the next one
    time_ns halved_ = 0; ///< up to when
};

} // namespace

extern constinit const policy_entry bis_entry{
    .name = "bis",
    .summary =
        "the critical sections that tasks wait for longest change to fast cores (modelled machines only)",
    .source = "Joao et al. 2012, as in Chen & Guo 2017, 5.3.6",
    .helps = "unequal cores, and programs whose tasks wait for a few of many locks; in the model",
    .knobs = bis_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<bis>(static_cast<double>(values.integer("waited_ns")),
                                     values.integer("forget_us") * 1000);
    },
    .modelled_only = true,
};

} // namespace weft::policies
