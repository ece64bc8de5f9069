// Workers that change cores: policy_context::exchange() in both engines, and the policy that snatches by it.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/modelled.hpp"
#include "engine/support.hpp"
#include "engine/threads/thread_engine.hpp"
#include "engine/unequal.hpp"
#include "policy/parts/places.hpp"
#include "policy/parts/snatching.hpp"

namespace {
std::atomic<int> threads_that_pinned_themselves{0}, threads_that_others_pinned{0};
}

/// In place of the C library's.
extern "C" int sched_setaffinity(pid_t thread, std::size_t bytes, const cpu_set_t* mask) noexcept {
    ++(thread == 0 || thread == syscall(SYS_gettid) ? threads_that_pinned_themselves
                                                    : threads_that_others_pinned);
    return static_cast<int>(syscall(SYS_sched_setaffinity, thread, bytes, mask));
}

namespace weft {
namespace {

using test::modelled;

/// Random stealing, child-first and reported; at each tick, and before each look, workers change cores: two that a counter
/// names.
class swapping final : public policy {
public:
    swapping(time_ns period, bool in_hooks) : period_(period), in_hooks_(in_hooks) {}

    requirements attach(const machine&, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        return {.demotable = true, .exchanges = true, .tick = period_};
    }
    placement ready(worker_id w, task& t, ready_reason reason) override { return places_.put(w, t, reason); }
    decision next(worker_id w, bool last_look) override {
        if (in_hooks_ && context_->all().size() > 1) exchange();
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        return places_.look_outside(w, last_look, false);
    }
    workers victims(worker_id) override { return context_->all(); }
    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::child_first; }
    void tick(time_ns) override { exchange(); }

    std::atomic<int> done{0}, refused{0};

private:
    void exchange() {
        const int n = context_->all().size();
        const int turn = turn_.fetch_add(1);
        const worker_id a = turn % n, b = (turn + 1) % n;
        (context_->exchange(a, b) ? done : refused).fetch_add(1);
    }

    const time_ns period_;
    const bool in_hooks_;
    policy_context* context_ = nullptr;
    places places_;
    std::atomic<int> turn_{0};
};

using test::compute;
using test::core;
using test::fast_and_slow;
using test::now;

// ---- the model

TEST(exchange_in_model, rescales_what_is_left_of_the_work) {
    // One task of 10 us on a machine of a fast and a slow core; each 4 us the cores change. On the fast core it does 4 us of
    // work between two ticks, on the slow one 2.
    auto p = std::make_unique<swapping>(4000, false);
    auto& policy = *p;
    modelled m(std::move(p), fast_and_slow(1, 0));
    int first = -1;
    const time_ns took = m.run([&] {
        first = core();
        compute(10'000);
    });
    EXPECT_EQ(first, 0);
    EXPECT_EQ(took, 12'000); // 4 + 2 + 4 us of work
    EXPECT_GE(policy.done.load(), 2);
    EXPECT_EQ(policy.refused.load(), 0);
}

TEST(exchange_in_model, costs_each_of_the_two_workers_what_the_machine_says) {
    modelled m(std::make_unique<swapping>(4000, false), fast_and_slow(1, 500));
    // 4 us of work; 0.5 us and 3.5 us at half speed: 1.75 us; 0.5 us and 3.5 us; 0.5 us and the last 0.75 us at half speed.
    EXPECT_EQ(m.run([] { compute(10'000); }), 12'000 + 500 + 1500);
}

/// Each core has a cache of 64 KiB; a line of memory takes 100 ns, one after another.
machine fast_and_slow_with_caches() {
    machine_parts parts = fast_and_slow(1, 0).parts();
    for (int rank = 0; rank < 2; ++rank)
        parts.caches.push_back({.level = 2, .bytes = 65'536, .shared_by = {rank, rank + 1}, .latency_ns = 1});
    parts.memory_nodes[0].latency_ns = 100;
    parts.model.loads_in_flight = 1;
    return machine(parts);
}

TEST(exchange_in_model, a_task_brings_along_what_it_works_on) {
    // Each core has a task, and when the fast one is done it takes the other task, of which half is left.
    std::vector<char> data(2 * 16'384);
    constexpr time_ns lines = 256, a_line = 100;
    const auto time_of = [&](access how, std::uint64_t before, bool anew) {
        modelled m("snatch:zone=reported", fast_and_slow_with_caches());
        return m.run([&] {
            task_group g;
            for (std::size_t i = 0; i < 2; ++i)
                g.run([&, i] {
                    const auto declare = [&] { touch(&data[i * 16'384], 16'384, how); };
                    declare();
                    if (before > 0) cost(before);
                    if (anew) declare();
                    cost(400'000);
                });
            g.wait();
        });
    };
    const time_ns once = time_of(access::read, 0, false);
    EXPECT_EQ(time_of(access::write, 0, false), once) << "what is read or written once is not there again";
    EXPECT_GE(time_of(access::readwrite, 0, false), once + lines * a_line);
    // Of what a task has declared before a former cost it is done with.
    const time_ns in_two = time_of(access::read, 1000, false);
    EXPECT_EQ(time_of(access::readwrite, 1000, false), in_two);
    EXPECT_GE(time_of(access::readwrite, 1000, true), in_two + lines * a_line);
}

TEST(exchange_in_model, is_counted_for_both_workers) {
    modelled m(std::make_unique<swapping>(4000, false), fast_and_slow(2, 0));
    m.run([] { compute(10'000); });
    std::uint64_t all = 0;
    for (int w = 0; w < 3; ++w) all += m.engine.worker_at(w).count.exchanges.get();
    EXPECT_GT(all, 0u);
    EXPECT_EQ(all % 2, 0u);
    std::vector<int> cores;
    for (int w = 0; w < 3; ++w) cores.push_back(m.engine.worker_at(w).core());
    std::ranges::sort(cores);
    EXPECT_EQ(cores, (std::vector{0, 1, 2}));
}

TEST(exchange_in_model, gives_the_same_times_in_each_run) {
    const auto run = [] {
        modelled m(std::make_unique<swapping>(700, true), fast_and_slow(3, 100));
        const time_ns took = m.run([] {
            task_group g;
            for (int i = 1; i < 40; ++i) g.run([i] { compute(i * 137); });
            g.wait();
        });
        m.engine.wait_until_quiescent();
        return std::pair(took, m.engine.sim->event_hash);
    };
    EXPECT_EQ(run(), run());
}

// ---- snatching: the example of the book, 5.2 and 5.3.1

constexpr time_ns us = 1000;
constexpr time_ns fast_times[] = {10 * us, 4 * us, 3 * us, 2 * us}; // f; s = 2 f
constexpr time_ns delta = 1 * us;

struct outcome {
    time_ns took = 0;
    int ended_on_fast[4] = {};
};

/// Four tasks begin at the same time, `order[0]` on the fast core.
outcome four_tasks(const std::string& policy, std::vector<int> order, std::uint64_t seed) {
    outcome out;
    modelled m(make_policy(policy), fast_and_slow(3, delta), seed);
    constexpr time_ns begin = 10 * us;
    time_ns base = 0, last = 0;
    const auto piece = [&](time_ns since) {
        const int i = order[static_cast<std::size_t>(core())];
        const time_ns left = since + begin - now();
        cost(static_cast<std::uint64_t>(core() == 0 ? 2 * left
                                                    : left)); // a cycle is a nanosecond on a slow core
        EXPECT_EQ(now(), since + begin);
        compute(fast_times[i]);
        out.ended_on_fast[i] = core() == 0;
        last = std::max(last, now());
    };
    m.run([&] {
        base = now();
        task_group g;
        for (int i = 0; i < 3; ++i) g.run([&] { piece(base); });
        piece(base);
        g.wait();
    });
    out.took = last - base - begin;
    return out;
}

TEST(snatch, the_vectors_of_the_book) {
    EXPECT_DOUBLE_EQ(part_left(2, 20), 0.9);
    EXPECT_DOUBLE_EQ(end_of_snatched(2, 20, 10, 1), 12);
    EXPECT_DOUBLE_EQ(break_even_of_snatch(2, 20, 10), 9);
}

TEST(snatch, the_four_tasks_of_the_book_to_the_nanosecond) {
    const std::vector<int> best{0, 1, 2, 3}, bad{3, 0, 1, 2}; // which task is on which core
    EXPECT_EQ(four_tasks("steal:zone=reported", best, 1).took, 10 * us);
    EXPECT_EQ(four_tasks("steal:zone=reported", bad, 1).took, 20 * us);
    // Slow cores that get idle snatch nothing.
    for (std::uint64_t seed = 1; seed <= 10; ++seed)
        EXPECT_EQ(four_tasks("snatch:zone=reported,tries=1", best, seed).took, 10 * us) << seed;
    int first_task = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const outcome o = four_tasks("snatch:zone=reported,tries=1", bad, seed);
        EXPECT_LT(o.took, 20 * us) << seed;
        EXPECT_GT(o.took, 10 * us) << seed;
        // The longest task was snatched first: the other two end on slow cores.
        if (o.ended_on_fast[0] && !o.ended_on_fast[1] && !o.ended_on_fast[2]) {
            ++first_task;
            EXPECT_EQ(o.took, 12 * us) << seed;
        }
    }
    EXPECT_GT(first_task, 0);
}

/// The bad case of 5.2 under AATS-TS: classes are known, the longest task is on a slow core, and the shortest on the fast one.
time_ns badly_placed_under_ts(time_ns cost_of_exchange, std::uint64_t seed) {
    constexpr std::string_view names[] = {"g1", "g2", "g3", "g4"};
    modelled m(make_policy("aats:ts=on,mode=pipeline"), fast_and_slow(3, cost_of_exchange), seed);
    time_ns begin = 0, last = 0;
    const auto piece = [&](int i) {
        const time_ns left = begin - now();
        cost(static_cast<std::uint64_t>(core() == 0 ? 2 * left : left)); // until all have begun
        compute(fast_times[i]);
        last = std::max(last, now());
    };
    m.run([&] {
        const auto batch = [&] {
            task_group g;
            for (int i = 0; i < 4; ++i) g.run([i] { compute(fast_times[i]); }, {.name = names[i]});
            g.wait();
        };
        for (int round = 0; round < 40; ++round) batch(); // each class is timed on both kinds of cores
        compute(2000 * us);                               // over a tick, so that classes are divided
        batch();
        compute(50 * us); // if the main task has gone on on a slow core, the fast one takes it over
        ASSERT_EQ(core(), 0);
        begin = now() + 50 * us;
        task_group g;
        for (int i = 0; i < 3; ++i) g.run([&, i] { piece(i); }, {.name = names[i]});
        piece(3);
        g.wait();
    });
    return last - begin;
}

TEST(snatch, the_largest_task_of_the_book_is_taken_over_by_design) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        EXPECT_EQ(badly_placed_under_ts(1 * us, seed), 12 * us) << seed;
        EXPECT_EQ(badly_placed_under_ts(9 * us, seed), 20 * us) << "it breaks even, " << seed;
    }
}

TEST(snatch, a_hidden_rest_of_a_task_is_snatched_where_it_runs) {
    // The zone is silent: the slow worker has got the rest of the root, which it runs as an exposed entry.
    modelled m("snatch", fast_and_slow(1, 0));
    const time_ns took = m.run([] {
        task_group g;
        g.run([] { compute(100 * us); });
        compute(100 * us);
        g.wait();
    });
    // Alone, the slow core would need 200 us. At 100 us half of its work is left.
    EXPECT_GE(took, 150 * us);
    EXPECT_LE(took, 151 * us);
}

// One task of 100 ms on each core of A-8-0-0-8. The slow cores have done 0.32 of theirs when the fast ones are idle.
TEST(snatch, each_fast_core_of_a_8_0_0_8_takes_over_one_slow_task) {
    const auto took = [](const std::string& policy) {
        modelled m(policy, load_machine(WEFT_SOURCE_DIR "/machines/opteron-8380-a-8-0-0-8.toml"));
        const time_ns all = m.run([] {
            task_group g;
            for (int i = 0; i < 16; ++i) g.run([] { cost(100'000'000); });
            g.wait();
        });
        std::uint64_t exchanges = 0;
        for (int w = 0; w < 16; ++w) exchanges += m.engine.worker_at(w).count.exchanges.get();
        return std::pair(static_cast<double>(all), exchanges / 2);
    };
    const double alone =
        took("steal").first / 3.125; // of one task on a fast core, with the runtime's own time
    const auto [snatched, exchanges] = took("snatch");
    EXPECT_EQ(exchanges, 8u);
    EXPECT_NEAR(snatched / alone, 1.68, 0.01);
}

// ---- threads

struct threads_under {
    explicit threads_under(std::unique_ptr<policy> p, int workers, bool pin,
                           engine::preemption_options preempt = {})
        : engine(std::move(p), this_machine(), {.workers = workers, .pin = pin, .preempt = preempt}) {}
    engine::thread_engine engine;
    template <class F>
    void run(F&& f) {
        engine::run_root(engine, {[](void* c) { (*static_cast<std::remove_reference_t<F>*>(c))(); }, &f});
    }
};

std::uint64_t fib(int n) {
    if (n < 2) return static_cast<std::uint64_t>(n);
    auto [a, b] = join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

/// All threads are where their workers are: no exchange goes on meanwhile.
void expect_pinned(engine::thread_engine& e) {
    for (const auto& w : e.all_workers) {
        cpu_set_t mask;
        ASSERT_EQ(w->pinned, w->kernel);
        ASSERT_EQ(sched_getaffinity(w->kernel->id, sizeof mask, &mask), 0);
        EXPECT_EQ(CPU_COUNT(&mask), 1);
        EXPECT_TRUE(CPU_ISSET(static_cast<std::size_t>(e.machine.core_at(w->core()).os_index), &mask));
        EXPECT_EQ(w->pinned->core, w->core());
    }
}

TEST(exchange_on_threads, moves_the_threads_of_both_workers) {
    const int n = std::min(4, this_machine().size());
    if (n < 2) GTEST_SKIP() << "one core";
    auto p = std::make_unique<swapping>(100'000, true);
    auto& policy = *p;
    threads_under t(std::move(p), n, true);
    const int before_all_had_come = policy.refused;
    for (int i = 0; i < test::rounds(test::thread_sanitized ? 1 : 4); ++i)
        t.run([] { EXPECT_EQ(fib(16), 987u); });
    t.engine.wait_until_quiescent();
    EXPECT_GT(policy.done.load(), 0);
    EXPECT_EQ(policy.refused.load(), before_all_had_come);
    const std::lock_guard held(t.engine.pinned);
    expect_pinned(t.engine);
}

TEST(exchange_on_threads, is_refused_without_cores_to_exchange) {
    auto p = std::make_unique<swapping>(0, true);
    auto& policy = *p;
    threads_under t(std::move(p), 2, false);
    t.run([] { EXPECT_EQ(fib(12), 144u); });
    EXPECT_EQ(policy.done.load(), 0);
    EXPECT_GT(policy.refused.load(), 0);
    EXPECT_EQ(t.engine.worker_at(0).core(), 0);
}

// A kernel thread that comes to a worker is pinned while others change the worker's core (K1 of threads/pinned_threads.hpp,
// K2 of threads/pinned_threads.hpp).
TEST(exchange_on_threads, finds_the_threads_of_preempted_tasks) {
    const int n = std::min(4, this_machine().size());
    if (n < 2 || test::sanitized) GTEST_SKIP() << "one core, or a sanitizer";
    auto p = std::make_unique<swapping>(50'000, true);
    auto& policy = *p;
    threads_under t(std::move(p), n, true,
                    {.type = preemption::klt, .interval = std::chrono::microseconds(300)});
    for (int i = 0; i < test::rounds(5); ++i)
        t.run([] {
            task_group g;
            for (int k = 0; k < 8; ++k)
                g.run([] { // a few milliseconds outside of the runtime
                    for (volatile int spin = 0; spin < 5'000'000;) spin = spin + 1;
                });
            g.wait();
        });
    EXPECT_GT(t.engine.preemption.stops(), 0u);
    t.engine.wait_until_quiescent();
    EXPECT_GT(policy.done.load(), 0);
    const std::lock_guard held(t.engine.pinned);
    expect_pinned(t.engine);
}

// Each thread of a stopped task comes to its first worker without a core, and some go on under another worker.
TEST(exchange_on_threads, a_stopped_thread_is_pinned_before_it_wakes_up) {
    const int n = std::min(4, this_machine().size());
    if (n < 2 || test::sanitized) GTEST_SKIP() << "one core, or a sanitizer";
    threads_under t(make_policy("steal"), n, true,
                    {.type = preemption::klt, .interval = std::chrono::microseconds(300)});
    t.run([] {});
    threads_that_pinned_themselves = 0, threads_that_others_pinned = 0;
    const bool have_stopped = test::await([&] { // the first ticks find no spare threads
        t.run([&] {
            task_group g;
            for (int k = 0; k < 4 * n; ++k)
                g.run([] {
                    for (volatile int spin = 0; spin < 5'000'000;) spin = spin + 1;
                });
            g.wait();
        });
        return t.engine.preemption.stops() > 50;
    });
    EXPECT_TRUE(have_stopped);
    EXPECT_GT(threads_that_others_pinned, 0);
    EXPECT_LE(threads_that_pinned_themselves, n); // a worker's own thread when it begins
}

} // namespace
} // namespace weft
