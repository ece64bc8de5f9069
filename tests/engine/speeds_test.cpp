// Emulated speeds on threads, by outcome: processor time that a worker has had against the time that passed.
// ctest: labels=not_tsan
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include "engine/bare_engine.hpp"
#include "machine/speeds.hpp"
#include "policy/parts/places.hpp"

namespace weft {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::int64_t cpu_time() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

/// The part of the time in which the calling thread has its core while it spins. A busy computer makes it less, never more.
double share_while_spinning(milliseconds time) {
    const auto since = clock::now();
    const auto used = cpu_time();
    while (clock::now() - since < time) {}
    const auto passed = std::chrono::duration<double, std::nano>(clock::now() - since).count();
    return static_cast<double>(cpu_time() - used) / passed;
}

engine::thread_engine_options with(const std::vector<double>& speeds, std::vector<int> cpus) {
    auto o = test::options_of(static_cast<int>(speeds.size()));
    o.pin = !cpus.empty();
    o.speeds = {.speeds = speeds, .shares = speeds, .cpus = std::move(cpus)};
    return o;
}

/// More than the share: a signal comes a period late, and a busy computer delays the thread that sends it.
constexpr double tolerance = 0.15;

TEST(emulated_speeds, a_worker_has_its_share_of_the_time) {
    test::bare_engine e("steal", with({0.3}, {}));
    double had = 1;
    e.run([&] { had = share_while_spinning(milliseconds(300)); });
    EXPECT_LT(had, 0.3 + tolerance);
    EXPECT_GT(had, 0.01);
    EXPECT_GT(e.engine.pace->signals(), 0u);
}

// Each task is shorter than the period of the signals; what a worker owes after one it waits for before the next.
TEST(emulated_speeds, hold_for_tasks_shorter_than_a_period) {
    test::bare_engine e("steal", with({0.25}, {}));
    std::int64_t used = 0, passed = 0;
    for (int i = 0; i < 200; ++i) {
        const auto since = clock::now();
        e.run([&] {
            const auto before = cpu_time();
            while (cpu_time() - before < 300'000) {}
            used += cpu_time() - before;
        });
        passed += std::chrono::nanoseconds(clock::now() - since).count();
    }
    EXPECT_LT(static_cast<double>(used) / static_cast<double>(passed), 0.25 + tolerance);
}

TEST(emulated_speeds, a_worker_of_speed_one_is_never_signalled) {
    test::bare_engine e("steal", with({1}, {}));
    e.run([&] { share_while_spinning(milliseconds(50)); });
    EXPECT_EQ(e.engine.pace->signals(), 0u);
}

TEST(emulated_speeds, a_worker_that_sleeps_is_not_signalled) {
    test::bare_engine e("steal", with({0.5, 0.5}, {}));
    e.run([] {});
    const auto before = e.engine.pace->signals();
    std::this_thread::sleep_for(milliseconds(100));
    EXPECT_LE(e.engine.pace->signals() - before, 2u); // one may be on its way to each
}

// A thread that waits in the system uses no time, so no signal interrupts it (V4 of engine/threads/speeds/README.md).
TEST(emulated_speeds, calls_that_wait_are_not_interrupted) {
    test::bare_engine e("steal", with({0.5}, {}));
    int interrupted = 0;
    e.run([&] {
        share_while_spinning(milliseconds(20));
        for (int i = 0; i < 20; ++i) interrupted += poll(nullptr, 0, 10) < 0 ? 1 : 0;
    });
    EXPECT_LE(interrupted, 2); // as it begins to wait
}

TEST(emulated_speeds, errno_is_the_tasks_own) {
    test::bare_engine e("steal", with({0.2}, {}));
    int kept = 0;
    e.run([&] {
        errno = 4711;
        share_while_spinning(milliseconds(50));
        kept = errno;
    });
    EXPECT_EQ(kept, 4711);
    EXPECT_GT(e.engine.pace->signals(), 0u);
}

/// Runs a task on each worker; exchanges workers 0 and 1 when a task says so.
class exchanging final : public policy {
public:
    requirements attach(const machine&, policy_context& c) override {
        context_ = &c;
        places_.attach(c);
        return {.exchanges = true, .tick = 1'000'000};
    }
    placement ready(worker_id w, task& t, ready_reason r) override { return places_.put(w, t, r); }
    decision next(worker_id w, bool last) override {
        const decision own = places_.own(w, last);
        return own.t ? own : places_.look_outside(w, last, false);
    }
    workers victims(worker_id) override { return context_->all(); }
    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }
    void tick(time_ns) override {
        if (wanted.exchange(false)) done = context_->exchange(0, 1);
    }
    std::atomic<bool> wanted{false}, done{false};

private:
    policy_context* context_ = nullptr;
    places places_;
};

// The speed belongs to the core (V3 of engine/threads/speeds/README.md): after the exchange the worker that was slow may run all the time, and the other is slow.
TEST(emulated_speeds, change_places_with_the_cores) {
    const auto cpus = usable_cpus();
    auto made = std::make_unique<exchanging>();
    exchanging& p = *made;
    const machine two = with_speeds(this_machine(), std::vector<double>{1, 0.2});
    auto o = with({1, 0.2}, {cpus.front(), cpus.back()});
    engine::thread_engine e(std::move(made), two, o);
    double slow_before = 1, slow_after = 1;
    std::uint64_t slow_charged = 0, fast_charged = 0;
    auto root = [&] {
        const auto until = [](auto&& is_so) {
            const auto since = clock::now();
            while (!is_so() && clock::now() - since < milliseconds(5000)) {}
        };
        std::atomic<int> came{0}, measured{0};
        task_group g;
        const auto work = [&] {
            ++came;
            until([&] { return came == 2; });
            const bool second = this_task::worker() == 1;
            const double before = share_while_spinning(milliseconds(200));
            if (second) slow_before = before;
            ++measured;
            until([&] { return measured == 2; });
            if (second) p.wanted = true;
            until([&] { return p.done.load(); });
            share_while_spinning(milliseconds(20));
            // A busy computer makes both shares small. It charges nothing to a worker of speed 1.
            const auto& used = impl::hot_self()->count.used;
            const auto used_before = used.get();
            const auto cpu_before = cpu_time();
            const double after = share_while_spinning(milliseconds(200));
            while (cpu_time() - cpu_before < 10'000'000) {}
            (second ? fast_charged : slow_charged) = used.get() - used_before;
            if (!second) slow_after = after;
        };
        g.run(work);
        work();
        g.wait();
    };
    engine::run_root(e, {[](void* c) { (*static_cast<decltype(root)*>(c))(); }, &root});
    EXPECT_TRUE(p.done);
    EXPECT_LT(slow_before, 0.2 + tolerance);
    EXPECT_LT(slow_after, 0.2 + tolerance);
    EXPECT_GT(slow_charged, 0u);
    EXPECT_EQ(fast_charged, 0u);
}

// The speed belongs to the worker, and not to the kernel threads that run it in turn (V2 of engine/threads/speeds/README.md).
TEST(emulated_speeds, hold_while_kernel_threads_change) {
    auto o = with({0.25}, {});
    o.preempt = {.type = preemption::klt, .interval = std::chrono::microseconds(1000)};
    test::bare_engine e("steal", o);
    std::atomic<std::int64_t> used{0};
    std::int64_t passed = 0, charged = 0;
    e.run([&] {
        const auto since = clock::now();
        const auto& of_worker = impl::hot_self()->count.used;
        const auto charged_before = of_worker.get();
        task_group g;
        for (int i = 0; i < 3; ++i)
            g.run([&] {
                const auto before = cpu_time(); // a task that is stopped goes on on its kernel thread
                // Most of the time in code of its own: a sanitizer's clock_gettime() is code of the library that has malloc, in
                // which no tick preempts a task (Y5 of engine/threads/preemption/README.md).
                while (cpu_time() - before < 40'000'000)
                    for (int step = 0; step < 10'000; ++step) asm volatile("");
                used += cpu_time() - before;
            });
        g.wait();
        passed = std::chrono::nanoseconds(clock::now() - since).count();
        charged = static_cast<std::int64_t>(of_worker.get() - charged_before);
    });
    EXPECT_GT(e.engine.preemption.stops(), 0u);
    // What each thread has used is charged once, however long the threads waited.
    EXPECT_NEAR(static_cast<double>(charged) / static_cast<double>(used.load()), 1, 0.2);
    EXPECT_LT(static_cast<double>(used.load()) / static_cast<double>(passed), 0.25 + tolerance);
}

/// Sends the signal to the calling thread; whether its worker was charged, and so might have paused.
bool is_charged() {
    const auto& used = impl::hot_self()->count.used;
    const auto before = used.get();
    for (const auto since = cpu_time(); cpu_time() - since < 100'000;) {}
    pthread_kill(pthread_self(), SIGVTALRM);
    return used.get() > before;
}

/// Another policy, whose hook gets a signal.
class signalled_in_hook final : public policy {
public:
    explicit signalled_in_hook(bool& charged) : charged_(charged) {}
    requirements attach(const machine&, policy_context& c) override {
        places_.attach(c);
        return {};
    }
    placement ready(worker_id w, task& t, ready_reason r) override { return places_.put(w, t, r); }
    decision next(worker_id w, bool last) override { return places_.own(w, last); }
    void finished(worker_id, task&, const usage&) override { charged_ = is_charged(); }

private:
    bool& charged_;
    places places_;
};

// V1 of engine/threads/speeds/README.md: not in the runtime, and not while the tick is held away.
TEST(emulated_speeds, a_worker_pauses_in_user_code_only) {
    bool in_hook = true, held = true, in_code = false;
    test::bare_engine e(std::make_unique<signalled_in_hook>(in_hook), with({0.5}, {}));
    e.run([&] {
        {
            const impl::tick_hold here;
            held = is_charged();
        }
        in_code = is_charged();
    });
    EXPECT_FALSE(in_hook);
    EXPECT_FALSE(held);
    EXPECT_TRUE(in_code);
}

volatile std::sig_atomic_t own_alarms = 0;

TEST(emulated_speeds, a_program_keeps_its_own_handler) {
    struct sigaction own{}, before{}, during{};
    own.sa_handler = [](int) { own_alarms = own_alarms + 1; };
    sigaction(SIGVTALRM, &own, &before);
    {
        test::bare_engine e("steal", with({0.5}, {}));
        e.run([] { share_while_spinning(milliseconds(20)); });
        EXPECT_EQ(own_alarms, 0);
        kill(getpid(), SIGVTALRM);
        const auto since = clock::now();
        while (own_alarms == 0 && clock::now() - since < milliseconds(5000)) {}
        EXPECT_EQ(own_alarms, 1);
    }
    sigaction(SIGVTALRM, &before, &during);
    EXPECT_EQ(during.sa_handler, own.sa_handler);
}

TEST(emulated_speeds, cost_nothing_if_there_are_none) {
    test::bare_engine e("steal", test::options_of(2));
    EXPECT_FALSE(e.engine.pace.has_value());
    struct sigaction now{};
    sigaction(SIGVTALRM, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL);
}

// ---- the option

runtime_options option(const std::string& speeds) {
    runtime_options o;
    o.speeds = speeds;
    return o;
}

TEST(speed_option, chooses_the_workers_and_the_machine_of_the_policy) {
    runtime_options o = option("1,0.5,0.25");
    runtime rt(o);
    EXPECT_EQ(rt.workers(), 3);
    EXPECT_EQ(rt.run([] { return 42; }), 42);
    const std::string told = rt.report(report_format::json);
    EXPECT_NE(told.find("speeds 1,0.5,0.25"), std::string::npos) << told;
    EXPECT_NE(told.find("\"speed_scale\""), std::string::npos) << told;
    EXPECT_NE(rt.report().find("emulated"), std::string::npos) << rt.report();
}

TEST(speed_option, what_does_not_fit_is_refused) {
    const auto refused = [](runtime_options o, const char* words) {
        try {
            const runtime rt(o);
            ADD_FAILURE() << "taken: " << o.speeds;
        } catch (const error& e) {
            EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
        }
    };
    refused(option("1,3"), "given: runtime_options::speeds = 1,3");
    auto o = option("1,0.5");
    o.workers = 3;
    refused(o, "given: 2 speeds, 3 workers");
    o = option("1,0.5");
    o.pin = "scatter";
    refused(o, "allowed: off, or no choice");
    o = option("1,0.5");
    o.engine = "model";
    o.machine = "core:2 pu:1";
    o.workers = 1;
    refused(o, "given: 2 speeds, 1 workers");
}

// In the model the cores have these speeds.
TEST(speed_option, is_the_machine_of_a_model) {
    const auto took = [](const std::string& speeds) {
        runtime_options o = option(speeds);
        o.engine = "model";
        o.machine = "core:2 pu:1";
        o.costs = "declared";
        o.policy = "serial";
        runtime rt(o);
        rt.run([] { cost(100'000'000); });
        return rt.stats().seconds;
    };
    EXPECT_NEAR(took("0.25,1") / took("1,1"), 4, 0.01);
}

} // namespace
} // namespace weft
