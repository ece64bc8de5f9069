#include "policy/parts/core_groups.hpp"
#include "policy/parts/held_lock.hpp"
#include "policy/parts/longest_first.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/locked_list.hpp"
#include "queue/spin_lock.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

/// Longest job to the fastest core first: age-based scheduling.
///
///   N. B. Lakshminarayana, J. Lee, H. Kim: Age based scheduling for asymmetric multiprocessors. SC 2009, as in Q. Chen,
///   M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.3.4, Algorithm 7.
///
/// All tasks are assigned to cores anew when one is created, when a core gets idle, and at each timer (parts/
/// longest_first.hpp). A task that runs goes to its core with its worker, by an exchange; one that waits goes into the list
/// of the worker there. What a task has left is its distance to the next milestone, a wait or its end, less what it has done
/// since the last one. The distance is the same for all tasks and very large (prediction), or in proportion to hints::work
/// (profiling). A worker whose list is empty after its own assignment takes what is in other lists. Cores are those of the active
/// workers; tasks in the lists of others are assigned, too.
namespace weft::policies {
namespace {

constexpr knob ljfcf_knobs[] = {
    {"timer_us", "10000", "1..10000000", "time between two assignments, in microseconds"},
    {"distance_us", "1000000", "1..1000000000",
     "from one milestone to the next, in microseconds on the fastest core; of a task with a work hint, for "
     "each unit of work"},
    {"most", "64", "1..4096", "tasks that one assignment considers, those that run included"},
};

class longest_job_first final : public policy {
public:
    longest_job_first(time_ns timer, double distance, std::size_t most)
        : timer_(timer)
        , distance_(distance)
        , most_(most) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        groups_.attach(m, context);
        const auto n = static_cast<std::size_t>(context.all().size());
        mine_ = std::make_unique<own[]>(n);
        threads_.reserve(most_ + n);
        left_.resize(most_ + n);
        core_of_.resize(most_ + n);
        slots_.resize(n), speeds_.resize(n), room_.resize(n), taken_.resize(n);
        return {.task_bytes = sizeof(progress),
                .demotable = true,
                .resizable = true,
                .snapshots = true,
                .exchanges = true,
                .tick = timer_};
    }

    void resized(workers active) override { context_->wake(active); } // they look at the lists of all

    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        at(w).tasks.push_back(&t);
        if (reason == ready_reason::root || reason == ready_reason::spawned ||
            reason == ready_reason::released)
            static_cast<void>(assign());
        return {w, context_->active()};
    }

    decision next(worker_id w, bool last_look) override {
        if (task* const t = at(w).tasks.try_pop_front()) return {t, w};
        if (!last_look) {
            if (!assign()) return {at(w).tasks.try_pop_front(), w};
            if (task* const t = at(w).tasks.try_pop_front()) return {t, w};
        }
        const held_lock held(assigning_); // meanwhile tasks are in no list
        const workers all = context_->all();
        for (worker_id v = all.first; v < all.last; ++v)
            if (task* const t = at(v).tasks.pop_front()) return {t, v};
        return {};
    }
    workers victims(worker_id) override { return context_->all(); }

    void started(worker_id w, task& t) override { comes(w, t); }
    void resumed(worker_id w, task& t) override { comes(w, t); }
    void blocked(worker_id w, task& t, ready_reason reason) override {
        progress& p = t.data<progress>();
        p.done = goes_behind(reason) ? p.done + done_since(w, p.came) : 0; // a wait is a milestone
    }
    void tick(time_ns) override { static_cast<void>(assign()); }

private:
    struct progress { ///< since the last milestone
        double done;  ///< nanoseconds on the fastest core, up to `came`
        time_ns came;
    };
    struct alignas(queue::k_cache_line_bytes) own {
        queue::locked_list<task> tasks;
        queue::cell<double> done, distance; ///< of the task that the worker runs, for assign()
    };
    struct thread {
        task* waits; ///< null: it runs
        worker_id on;
        double left;
    };

    own& at(worker_id w) const noexcept { return mine_[static_cast<std::size_t>(w)]; }
    double relative_speed(worker_id w) const noexcept { return groups_.speed_of(w) / groups_.speed(0); }
    double done_since(worker_id w, time_ns since) const {
        return static_cast<double>(context_->now() - since) * relative_speed(w);
    }
    double distance_of(const task& t) const noexcept {
        return t.hint().work > 0 ? t.hint().work * distance_ : distance_;
    }
    void comes(worker_id w, task& t) {
        progress& p = t.data<progress>();
        p.came = context_->now();
        at(w).done.store_relaxed(p.done);
        at(w).distance.store_relaxed(distance_of(t));
    }

    /// False if another worker assigns at this moment.
    bool assign() {
        if (!assigning_.try_lock()) return false;
        assign_all();
        assigning_.unlock();
        return true;
    }

    void assign_all() {
        const workers active = context_->active();
        const auto cores = static_cast<std::size_t>(active.size());
        slots_.resize(cores), speeds_.resize(cores), room_.resize(cores);
        collect(active);
        std::ranges::sort(threads_, [](const thread& a, const thread& b) { return a.left > b.left; });
        std::iota(slots_.begin(), slots_.end(), 0); // workers by the speed of their cores
        std::ranges::stable_sort(slots_, [&](worker_id a, worker_id b) { return groups_.is_faster(a, b); });
        for (std::size_t c = 0; c < slots_.size(); ++c) speeds_[c] = groups_.speed_of(slots_[c]);
        for (std::size_t t = 0; t < threads_.size(); ++t) left_[t] = threads_[t].left;
        assign_longest_first(std::span(left_).first(threads_.size()), speeds_, core_of_, room_);
        taken_.assign(cores, false);
        for (std::size_t t = 0; t < threads_.size(); ++t)
            if (threads_[t].waits == nullptr) run_on(threads_[t].on, static_cast<std::size_t>(core_of_[t]));
        for (std::size_t t = 0; t < threads_.size(); ++t)
            if (task* const waiting = threads_[t].waits) {
                const worker_id to = slots_[static_cast<std::size_t>(core_of_[t])];
                at(to).tasks.push_back(waiting);
                context_->wake({to, to + 1});
            }
    }

    /// All tasks, up to `most`, but for what a worker that is no longer active has still to end. Those that wait are in no list from
    /// here to the end of assign().
    void collect(workers active) {
        threads_.clear();
        for (worker_id w = active.first; w < active.last; ++w) {
            const snapshot s = context_->running(w);
            if (!s.busy) continue;
            const double done = at(w).done.load_relaxed() + done_since(w, s.since);
            threads_.push_back({nullptr, w, std::max(0.0, at(w).distance.load_relaxed() - done)});
        }
        const workers all = context_->all();
        for (worker_id w = all.first; w < all.last; ++w)
            while (threads_.size() < most_) {
                task* const t = at(w).tasks.try_pop_front();
                if (t == nullptr) break;
                threads_.push_back({t, w, std::max(0.0, distance_of(*t) - t->data<progress>().done)});
            }
    }

    /// The worker gets that core, unless a task that comes first has got it. Of cores of the same speed it keeps its own.
    void run_on(worker_id w, std::size_t slot) {
        const worker_id there = slots_[slot];
        if (taken_[slot]) return;
        if (there != w) {
            const auto from = static_cast<std::size_t>(std::ranges::find(slots_, w) - slots_.begin());
            if (groups_.of(there) != groups_.of(w) && !context_->exchange(w, there)) return;
            std::swap(slots_[slot], slots_[from]);
        }
        taken_[slot] = true;
    }

    const time_ns timer_;
    const double distance_;
    const std::size_t most_;
    policy_context* context_ = nullptr;
    core_groups groups_;
    std::unique_ptr<own[]> mine_;
    queue::spin_lock<> assigning_; ///< guards what follows
    std::vector<thread> threads_;
    std::vector<double> left_, speeds_, room_;
    std::vector<int> core_of_;
    std::vector<worker_id> slots_;
    std::vector<bool> taken_;
};

} // namespace

extern constinit const policy_entry ljfcf_entry{
    .name = "ljfcf",
    .summary = "the task that has most left to the fastest core",
    .source = "Chen & Guo 2017, 5.3.4; Lakshminarayana et al., SC 2009",
    .wants = "hints.work, where tasks differ",
    .helps = "as many long tasks as cores, and cores of unequal speed",
    .knobs = ljfcf_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<longest_job_first>(values.integer("timer_us") * 1000,
                                                   static_cast<double>(values.integer("distance_us")) * 1000,
                                                   static_cast<std::size_t>(values.integer("most")));
    },
};

} // namespace weft::policies
