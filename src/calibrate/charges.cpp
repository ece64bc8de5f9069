#include "calibrate/charges.hpp"

#include "calibrate/timing.hpp"
#include "engine/run/roots.hpp"
#include "engine/threads/thread_engine.hpp"
#include "machine/load.hpp"
#include "policy/seam/registry.hpp"
#include "task/fiber_pool.hpp"

#include <weft/join.hpp>
#include <weft/task_group.hpp>
#include <weft/this_task.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

namespace weft::calibrate {

namespace {

// Short enough that some rounds are undisturbed, also on a machine that other programs use.
constexpr int repetitions = 5'000, rounds = 60;

/// An engine with one worker. It asks no environment: what is measured is not how this program is set.
class one_worker {
public:
    explicit one_worker(const char* policy)
        : engine_(make_policy(policy), this_machine(), engine::thread_engine_options{}) {}

    template <class F>
    void run(F&& f) {
        engine::run_root(engine_, {[](void* c) { (*static_cast<std::remove_reference_t<F>*>(c))(); }, &f});
    }

private:
    engine::thread_engine engine_;
};

/// Of each repetition that `body()` makes in a task.
template <class Body>
double ns_each(one_worker& on, Body&& body) {
    double ns = 0;
    on.run([&] { ns = best_ns(rounds, body); });
    return ns / repetitions;
}

// fib without cut-off: a fork with nothing in it.
[[gnu::noinline]] std::uint64_t fib_by_calls(unsigned n) {
    if (n < 2) return n;
    const std::uint64_t a = fib_by_calls(n - 1);
    std::uint64_t b = fib_by_calls(n - 2);
    asm volatile("" : "+r"(b)); // a second real call, as the second closure is
    return a + b;
}

[[gnu::noinline]] std::uint64_t fib_by_forks(unsigned n) {
    if (n < 2) return n;
    auto [a, b] = join([=] { return fib_by_forks(n - 1); }, [=] { return fib_by_forks(n - 2); });
    return a + b;
}

double fork_ns() {
    constexpr unsigned n = 20;
    constexpr double forks = 10'945; // fib(21) - 1
    one_worker on("steal");
    double ns = 0;
    on.run([&] {
        std::uint64_t sum = 0;
        const double calls = best_ns(4 * rounds, [&] { sum += fib_by_calls(n); });
        ns = std::max(0.0, best_ns(4 * rounds, [&] { sum += fib_by_forks(n); }) - calls) / forks;
        keep(sum);
    });
    return ns;
}

/// A child of a group that does nothing.
double child_ns(const char* policy) {
    one_worker on(policy);
    return ns_each(on, [] {
        task_group g;
        for (int i = 0; i < repetitions; ++i) g.run([] {});
        g.wait();
    });
}

/// A group with one child.
double group_ns() {
    one_worker on("steal");
    return ns_each(on, [] {
        for (int i = 0; i < repetitions; ++i) {
            task_group g;
            g.run([] {});
            g.wait();
        }
    });
}

double yield_ns() {
    one_worker on("steal");
    return ns_each(on, [] {
        for (int i = 0; i < repetitions; ++i) this_task::yield();
    });
}

/// A fiber on a stack of the default size that is mapped for it. Unmapping it is not counted: stacks are kept.
double stack_ns() {
    constexpr int stacks = 64;
    std::array<fiber*, stacks> taken{};
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < rounds; ++i) {
        fiber_pool pool(engine::thread_engine_options{}.stack_bytes, 0, [](arrival) {});
        least = std::min(least, best_ns(1, [&] {
                             for (fiber*& f : taken) f = pool.take();
                         }));
        for (fiber* const f : taken) pool.give(f);
    }
    return least / stacks;
}

/// For a policy that is driven by hand.
struct two_workers final : policy_context {
    workers all() const override { return {0, 2}; }
    workers active() const override { return all(); }
    int core_of(worker_id w) const override { return w; }
    time_ns now() const override { return 0; }
    std::uint32_t random(worker_id, std::uint32_t) override { return 0; }
    void wake(workers) override {}
    void post(worker_id, worker_id, int, task*) override {}
    snapshot running(worker_id) const override { return {}; }
    bool exchange(worker_id, worker_id) override { return false; }
};

/// One of the two steps of a task through a policy's own place: into it, or out of it.
double step_ns(const char* policy_name) {
    two_workers context;
    const auto driven = make_policy(policy_name);
    const machine on = load_synthetic("core:2 pu:1");
    driven->attach(on, context);
    std::array<task, 64> tasks{};
    constexpr int batches = repetitions / 64;
    const double ns = best_ns(rounds, [&] {
        for (int i = 0; i < batches; ++i) {
            for (task& t : tasks) driven->ready(0, t, ready_reason::spawned);
            for (std::size_t k = 0; k < tasks.size();)
                if (driven->next(0, false).t != nullptr) ++k;
        }
    });
    return ns / (2.0 * batches * static_cast<double>(tasks.size()));
}

} // namespace

figure_values measure_charges() {
    const double spawn = child_ns("steal"), reported = child_ns("steal-parent-first");
    const double look = step_ns("steal");
    return {
        {"charges.fork_ns", fork_ns()},
        {"charges.spawn_ns", spawn},
        {"charges.start_ns", std::max(0.0, reported - spawn - 2 * look)},
        {"charges.suspend_ns", std::max(0.0, yield_ns() - 2 * look)},
        {"charges.stack_ns", stack_ns()},
        {"charges.wait_ns", std::max(0.0, group_ns() - spawn)},
        {"charges.look_ns", look},
        {"charges.lock_ns", step_ns("share")},
        {"charges.exposure_ns", static_cast<double>(engine::thread_engine_options{}.exposure_bound.count())}};
}

} // namespace weft::calibrate
