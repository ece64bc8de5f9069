#include "policy/parts/core_groups.hpp"
#include "policy/parts/fair_turns.hpp"
#include "policy/parts/held_lock.hpp"
#include "policy/parts/thread_speed.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/chain.hpp"
#include "queue/spin_lock.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

/// Speed balancing: threads get equal shares of time, not cores equal numbers of threads.
///
///   S. Hofmeyr, C. Iancu, F. Blagojevic: Load balancing on speed. PPoPP 2010, as in Q. Chen, M. Guo: Task Scheduling for
///   Multi-core and Parallel Architectures. Springer 2017, 5.3.5.
///
/// Each worker has a list of tasks, first in, first out; a new task stays where it was made. At each interval the balancers of
/// all cores act, one after the other: the speed of a task is the part of the interval in which it ran, times the speed of
/// its core (ours: the book's cores are equal); that of a core is the mean of its tasks, and its own speed if it is
/// idle. A core that is faster than the mean of all pulls from the slowest core below the mean the task that was moved to it
/// least often (of several, the one that was moved least; one that runs, when it makes room), unless that core took part in a move within the last two intervals. If the slow core has only the task that
/// it runs, and the fast one is idle, the two workers change cores. The task must take turns to be measured: it has a type
/// of preemption, or yields.
///
/// The book's 1/(2T) is no bound of what is gained: parts/thread_speed.hpp.
namespace weft::policies {
namespace {

constexpr knob speed_knobs[] = {
    {"interval_us", "100000", "1..100000000", "between two balances, in microseconds; no figure in the book"},
    {"rest", "2", "0..1000", "intervals for which a core that took part in a move is left alone"},
};

class speed_balancing final : public policy {
public:
    speed_balancing(time_ns interval, int rest) : interval_(interval), rest_(rest) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        groups_.attach(m, context);
        const auto n = static_cast<std::size_t>(context.all().size());
        mine_ = std::make_unique<own[]>(n);
        speeds_ = std::make_unique<double[]>(n);
        recently_ = std::make_unique<bool[]>(n);
        return {.task_bytes = sizeof(thread),
                .demotable = true,
                .resizable = true,
                .snapshots = true,
                .exchanges = true,
                .tick = interval_};
    }

    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (goes_behind(reason)) at(w).turns.yielded();
        const worker_id pulled_to = goes_behind(reason) ? at(w).leaves_for.exchange(-1) : -1;
        const worker_id to = pulled_to < 0 ? w : pulled_to;
        if (pulled_to >= 0) count_move(t, context_->core_of(to));
        const held_lock held(at(to).lock);
        at(to).tasks.push_back(&t);
        return {to, context_->active()};
    }

    decision next(worker_id w, bool last_look) override {
        fair_turns& turns = at(w).turns;
        if (turns.sees_only_yields() && !last_look)
            turns.looked_elsewhere(); // its tasks may wait for one that lies elsewhere
        else if (task* const t = pop(w))
            return {t, w};
        const int n = context_->all().size();
        if (n < 2) return {};
        if (!last_look) { // an idle core pulls, as the operating system does
            const auto drawn = static_cast<worker_id>(context_->random(w, static_cast<std::uint32_t>(n - 1)));
            const worker_id victim = drawn < w ? drawn : drawn + 1;
            return {pop(victim), victim};
        }
        const held_lock held(balancing_); // meanwhile a task may be in no list
        for (worker_id v = 0; v < n; ++v)
            if (task* const t = pop(v)) return {t, v};
        return {};
    }
    workers victims(worker_id) override { return context_->all(); }

    void started(worker_id w, task& t) override { comes(w, t); }
    void resumed(worker_id w, task& t) override { comes(w, t); }
    void blocked(worker_id w, task& t, ready_reason) override {
        thread& of = t.data<thread>();
        of.executed = executed(w, context_->now());
        of.interval = intervals_.load_relaxed();
        at(w).came.store_relaxed(-1);
    }
    void finished(worker_id w, task&, const usage&) override { at(w).came.store_relaxed(-1); }

    void tick(time_ns now) override {
        const held_lock held(balancing_);
        const int n = context_->active().size(), k = intervals_.load_relaxed();
        for (worker_id w = 0; w < n; ++w) {
            speeds_[index(w)] = speed_of(w, now);
            recently_[index(w)] = k - at(w).moved < rest_;
        }
        for (worker_id j = 0; j < n; ++j) balance(j, n);
        began_.store_relaxed(now);
        intervals_.store_relaxed(k + 1);
    }

private:
    struct thread {
        time_ns executed; ///< in interval `interval`
        std::int32_t interval;
        std::uint64_t moves; ///< a byte for each core, modulo 8: how often it was moved there
    };
    struct alignas(queue::k_cache_line_bytes) own {
        queue::spin_lock<> lock;
        queue::chain<task> tasks{};       ///< guarded by the lock
        fair_turns turns;                 ///< only the worker
        queue::cell<time_ns> came{-1};    ///< when the worker came to the task that it runs; -1: it runs none
        queue::cell<time_ns> before;      ///< what that task had executed until then, of this interval
        queue::cell<int> in;              ///< that interval
        queue::cell<std::uint64_t> moves; ///< of that task
        queue::cell<worker_id> leaves_for{-1};           ///< where it goes when it makes room; -1: nowhere
        int moved = std::numeric_limits<int>::min() / 2; ///< interval of its last move; guarded by balancing_
    };

    static std::size_t index(worker_id w) noexcept { return static_cast<std::size_t>(w); }
    own& at(worker_id w) const noexcept { return mine_[index(w)]; }
    static std::uint64_t moves_to(std::uint64_t moves, int core) noexcept {
        return moves >> (core % 8 * 8) & 255;
    }
    static void count_move(task& t, int core) noexcept {
        std::uint64_t& moves = t.data<thread>().moves;
        if (moves_to(moves, core) < 255) moves += std::uint64_t{1} << (core % 8 * 8);
    }
    /// Least first: how often it was moved to that core, then how often it was moved at all (ours).
    static std::uint64_t order_of(std::uint64_t moves, int core) noexcept {
        std::uint64_t all = 0;
        for (int c = 0; c < 8; ++c) all += moves_to(moves, c);
        return moves_to(moves, core) << 16 | all;
    }

    task* pop(worker_id w) noexcept {
        const held_lock held(at(w).lock);
        return at(w).tasks.pop_front();
    }
    void comes(worker_id w, task& t) {
        const thread& of = t.data<thread>();
        const int now_in = intervals_.load_relaxed();
        at(w).before.store_relaxed(of.interval == now_in ? of.executed : 0);
        at(w).in.store_relaxed(now_in);
        at(w).moves.store_relaxed(of.moves);
        at(w).leaves_for.store_relaxed(-1);
        at(w).came.store_relaxed(context_->now());
    }
    /// In this interval, by the task that the worker runs.
    time_ns executed(worker_id w, time_ns now) const noexcept {
        const time_ns came = at(w).came.load_relaxed();
        if (came < 0) return 0;
        const bool since_then = at(w).in.load_relaxed() == intervals_.load_relaxed();
        return std::max<time_ns>(0, now - std::max(came, began_.load_relaxed())) +
               (since_then ? at(w).before.load_relaxed() : 0);
    }

    /// Mean of the tasks that are on the core.
    double speed_of(worker_id w, time_ns now) {
        const double core = groups_.speed_of(w) / groups_.speed(0);
        const auto real = static_cast<double>(now - began_.load_relaxed());
        const int k = intervals_.load_relaxed();
        double sum = 0;
        int threads = 0;
        if (at(w).came.load_relaxed() >= 0) {
            sum += thread_speed(static_cast<double>(executed(w, now)), real, core);
            ++threads;
        }
        const held_lock held(at(w).lock);
        at(w).tasks.for_each([&](const task& t) {
            const thread& of = t.data<thread>();
            sum += thread_speed(of.interval == k ? static_cast<double>(of.executed) : 0, real, core);
            ++threads;
        });
        return threads > 0 ? sum / threads : core;
    }

    /// The balancer of the core that worker `j` is on.
    void balance(worker_id j, int n) {
        const auto count = static_cast<std::size_t>(n);
        const int k = core_to_pull_from(index(j), {speeds_.get(), count}, {recently_.get(), count});
        if (k < 0 || recently_[index(j)]) return;
        const int core = context_->core_of(j);
        const bool runs = at(k).came.load_relaxed() >= 0, has_others = !is_empty(k);
        if (task* const t = pop_least_moved(k, core)) {
            count_move(*t, core);
            {
                const held_lock held(at(j).lock);
                at(j).tasks.push_back(t);
            }
            context_->wake({j, j + 1});
            if (!context_->active().contains(j)) context_->wake(context_->active()); // it is no longer active
        } else if (has_others) { // the one that runs: when it makes room
            at(k).leaves_for.store_relaxed(j);
        } else if (!runs || at(j).came.load_relaxed() >= 0 || !groups_.is_faster(j, k) ||
                   !context_->exchange(j, k)) {
            return;
        }
        for (const worker_id w : {j, k}) {
            at(w).moved = intervals_.load_relaxed();
            recently_[index(w)] = rest_ > 0;
        }
    }

    bool is_empty(worker_id w) const noexcept {
        const held_lock held(at(w).lock);
        return at(w).tasks.empty();
    }

    /// Of the tasks that wait in the list of `from`, the one that comes first by order_of(), and of several the first in the
    /// list; null if the list is empty, or if the task that runs there comes before it.
    task* pop_least_moved(worker_id from, int core) {
        const held_lock held(at(from).lock);
        std::uint64_t least = at(from).came.load_relaxed() >= 0
                                  ? order_of(at(from).moves.load_relaxed(), core) + 1
                                  : std::numeric_limits<std::uint64_t>::max();
        task* found = nullptr;
        queue::chain<task> others;
        while (task* const t = at(from).tasks.pop_front()) {
            if (const std::uint64_t order = order_of(t->data<thread>().moves, core); order < least) {
                least = order;
                found = t;
            }
            others.push_back(t);
        }
        while (task* const t = others.pop_front())
            if (t != found) at(from).tasks.push_back(t);
        return found;
    }

    const time_ns interval_;
    const int rest_;
    policy_context* context_ = nullptr;
    core_groups groups_;
    std::unique_ptr<own[]> mine_;
    queue::cell<int> intervals_{
        1}; ///< number of the present one; a task without bytes is in none. Written by tick()
    queue::cell<time_ns> began_; ///< likewise
    queue::spin_lock<> balancing_;
    std::unique_ptr<double[]> speeds_; ///< guarded by balancing_, as the next
    std::unique_ptr<bool[]> recently_;
};

} // namespace

extern constinit const policy_entry speed_entry{
    .name = "speed",
    .summary = "equal shares of time for all tasks, by pulls from slow cores",
    .source = "Chen & Guo 2017, 5.3.5; Hofmeyr et al., PPoPP 2010",
    .wants = "a type of preemption",
    .helps = "more long tasks than cores, which wait for each other at barriers",
    .knobs = speed_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<speed_balancing>(values.integer("interval_us") * 1000,
                                                 static_cast<int>(values.integer("rest")));
    },
};

} // namespace weft::policies
