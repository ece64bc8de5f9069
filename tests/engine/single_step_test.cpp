// An exposure after every instruction: a worker runs small programs with the processor's trap flag set, and
// the handler of the trap does at one instruction, at each one in turn, what the exposure signal would have
// done there. Every closure must run exactly once, whatever the thief does with what it was given.
//
// A program is cut in *stretches* by the marks in its closures; one run single-steps one stretch. The thieves
// are workers of the same engine, held in the policy: they ask when the trap handler asks in their name, and
// they take an answer, or run it, when the plan of the run allows it.
//
// Results alone would not tell: a closure that runs twice mostly computes the same value twice. Observed with
// the two steps exchanged in weft::impl::fork (gcc 12.2, -O2), that is, with the comparison before the
// unlinking: at 2 of the 656 points of fib_5, 3 of 1116 of fib_6, 6 of 402 of chain and 1 of 1458 of nest,
// closures run twice if the thief takes at once what it is given, and an answer is left in its slot if it
// never does; all results but that of nest are right. One test keeps such a fork beside the right one, so
// that a check gone blind fails.
//
// WEFT_TEST_THOROUGH=1 takes all instructions of the executable's own code; otherwise each run takes other
// ones of the longer programs.
//
// ctest: labels=optimised,not_tsan,not_asan
#include <weft/weft.hpp>

#include "api/options.hpp"
#include "engine/run/roots.hpp"
#include "engine/run/switch.hpp"
#include "engine/threads/thread_engine.hpp"
#include "engine/worker/task_record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cxxabi.h>
#include <dlfcn.h>
#include <sched.h>
#include <ucontext.h>
#include <unistd.h>

#include "engine/support.hpp"
#include "engine/traced.hpp"

#if defined(__x86_64__) && defined(__linux__) && !defined(WEFT_TEST_SANITIZED)

extern "C" const char __executable_start, etext;

namespace weft {
namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

const bool thorough = test::take_variable("WEFT_TEST_THOROUGH").value_or("0") != "0";

// ---- the plan of a run, and how far it is

constexpr unsigned never = ~0u;
constexpr int most_workers = 3; // number 0 runs the program, the others are thieves
constexpr unsigned most_steps = 20'000;

/// What comes after step `at` of the stretch.
struct shot {
    unsigned at = never;
    int thief = 0;            ///< the worker that asks; 0: a signal without a request
    unsigned take_at = never; ///< the step from which the thief may take its answer
    bool slow = false;        ///< it runs what it took only when the owner has nothing left to do
    bool fired = false;
};

struct step_seen {
    bool own; ///< in this executable, not in a library of the system
};

/// Of the run at hand. Written by the test while all workers are idle; then by worker 0 and its trap handler.
struct {
    engine::thread_engine* engine = nullptr;
    std::atomic<bool> active{false};
    unsigned start = 0; ///< the mark from which on to step
    unsigned marks = 0;
    unsigned steps = 0;
    bool reference = false; ///< note the steps down, up to the next mark
    bool interrupted = false;
    std::vector<step_seen> trace;
    std::array<shot, 2> shots{};
    bool waiters_to_owner = false; ///< a waiter resumes on worker 0; else where it was woken
    std::array<std::atomic<bool>, most_workers> may_take{}, slow{}, idle{};
    std::atomic<unsigned> taken{0}, given{0}, waits_cut{0};
    char text[256] = "nothing";
} now;

[[gnu::always_inline]] inline void set_trap_flag() noexcept {
    asm volatile(
        "leaq -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tleaq 128(%%rsp), %%rsp" ::
            : "cc", "memory");
}
/// True if it was set.
[[gnu::always_inline]] inline bool clear_trap_flag() noexcept {
    unsigned long flags;
    asm volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\tmovq (%%rsp), %0\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\t"
                 "leaq 128(%%rsp), %%rsp"
                 : "=r"(flags)::"cc", "memory");
    return flags & 0x100;
}

/// Where a stretch may begin.
[[gnu::noinline]] void mark() {
    const impl::worker* const w = impl::hot_self();
    if (!w || w->id != 0 || !now.active.load(std::memory_order_relaxed)) return;
    if (now.marks++ == now.start) set_trap_flag();
}

/// In the trap handler: until the thief has what it was given, or, if it is to run it, until it has come to
/// its end.
void wait_for_thief(const shot& s) noexcept {
    const auto index = static_cast<std::size_t>(s.thief);
    const auto until = clock_type::now() + 50ms; // it may need something of the thread that is stopped here
    while (now.engine->all_workers[index]->slot.has_answer() || (!s.slow && !now.idle[index].load())) {
        sched_yield();
        if (clock_type::now() > until) {
            now.waits_cut.fetch_add(1);
            return;
        }
    }
}

/// True if nothing is left to do for it.
bool serve(engine::thread_worker& self, shot& s, unsigned step) noexcept {
    if (s.fired && s.thief == 0) return true;
    if (step < s.at) return false;
    const auto index = static_cast<std::size_t>(s.thief);
    if (!s.fired) {
        s.fired = true;
        if (s.thief != 0) {
            now.slow[index] = s.slow;
            now.engine->all_workers[index]->slot.ask(0);
            self.askers.insert(engine::rank(s.thief));
        }
        static_cast<engine::thread_engine&>(self.engine).on_signal(self);
    }
    if (s.thief == 0 || s.take_at == never) return true;
    if (step < s.take_at) return false;
    now.may_take[index] = true;
    if (self.hot->in_runtime.load(std::memory_order_relaxed))
        return false; // it has been answered on the way out
    wait_for_thief(s);
    return true;
}

/// After each instruction. False: enough.
bool step_done(std::uintptr_t at) noexcept {
    impl::worker* const w = impl::hot_self();
    if (!w || w->id != 0 || !now.active.load(std::memory_order_relaxed)) return false;
    const unsigned step = now.steps++;
    if (step >= most_steps) return false;
    if (now.reference) {
        if (now.marks > now.start + 1) return false;
        const auto low = reinterpret_cast<std::uintptr_t>(&__executable_start);
        now.trace.push_back({at >= low && at < reinterpret_cast<std::uintptr_t>(&etext)}); // reserved before
        return true;
    }
    bool over = true;
    for (shot& s : now.shots)
        if (s.at != never && !serve(static_cast<engine::thread_worker&>(*w), s, step)) over = false;
    return !over;
}

void on_trap(int, siginfo_t*, void* context) {
    const int kept = errno;
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    if (!step_done(static_cast<std::uintptr_t>(registers[REG_RIP]))) registers[REG_EFL] &= ~0x100LL;
    errno = kept;
}

void on_alarm(int) {
    const char* const lines[] = {"a run hangs: ", now.text, "\n"};
    for (const char* line : lines)
        if (::write(STDERR_FILENO, line, std::strlen(line)) < 0) break;
    std::abort();
}

// ---- the engine

/// Worker 0 gets all roots; the thieves come to this policy again and again, and take what the plan allows.
class puppeteer final : public policy {
public:
    requirements attach(const machine&, policy_context&) override { return {.lazy = true}; }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (reason == ready_reason::exposed || reason == ready_reason::continuation)
            now.given.fetch_add(1); // by expose_all
        const bool to_owner =
            reason == ready_reason::root || (reason == ready_reason::joined && now.waiters_to_owner);
        const std::lock_guard held(lock_);
        places_[to_owner ? 0 : static_cast<std::size_t>(w)].push_back(&t);
        return {};
    }

    decision next(worker_id w, bool) override {
        // The scheduler's own steps are not of interest.
        if (w == 0 && clear_trap_flag()) now.interrupted = true;
        const decision p = look(w);
        if (w == 0 && p.t && std::exchange(now.interrupted, false)) set_trap_flag();
        return p;
    }

private:
    decision look(worker_id w) {
        const auto index = static_cast<std::size_t>(w);
        now.idle[index] = false;
        {
            const std::lock_guard held(lock_);
            if (auto& mine = places_[index]; !mine.empty()) {
                task* const t = mine.front();
                mine.pop_front();
                return {t, w, false};
            }
        }
        if (now.may_take[index]) {
            engine::thread_worker& self = *now.engine->all_workers[index];
            if (impl::frame* const f = self.slot.take()) {
                now.taken.fetch_add(1);
                task& got =
                    engine::task_of_frame(self, *f); // at once, as the engine does: its owner waits for that
                // A closure that waits for a slow thief does so in the scheduler of its worker, on another
                // stack.
                if (now.slow[index]) static_cast<void>(test::await([] { return now.idle[0].load(); }));
                return {&got, w, false};
            }
        }
        now.idle[index] = true;
        sched_yield();
        return {};
    }

    std::mutex lock_;
    std::array<std::deque<task*>, most_workers> places_;
};

// ---- programs: what they count, and what it must be

struct ledger {
    std::array<std::atomic<int>, 256> ran{};
    void at(unsigned node) {
        ran[node].fetch_add(1, std::memory_order_relaxed);
        mark();
    }
};

struct program {
    const char* name;
    long (*run)(ledger&);
    unsigned optional_from = 256; ///< closures that need not run, since the one beside them throws
};

long fib(ledger& l, int n, unsigned node) {
    l.at(node);
    if (n < 2) return n;
    const auto [a, b] = join([&, n, node] { return fib(l, n - 1, 2 * node); },
                             [&, n, node] { return fib(l, n - 2, 2 * node + 1); });
    return a + b;
}

long fib(context ctx, ledger& l, int n, unsigned node) {
    l.at(node);
    if (n < 2) return n;
    const auto [a, b] = join(
        ctx, [&, n, node](context c) { return fib(c, l, n - 1, 2 * node); },
        [&, n, node](context c) { return fib(c, l, n - 2, 2 * node + 1); });
    return a + b;
}

/// Leaves first, the rest as the second closure.
void chain(ledger& l, unsigned left) {
    if (left == 0) return;
    join([&, left] { l.at(left); }, [&, left] { l.at(16 + left), chain(l, left - 1); });
}

/// Forks as impl::fork does, but compares before it unlinks.
template <class F, class G>
void fork_comparing_first(F&& f, G&& g) {
    impl::frame* const parent = impl::hot_head();
    impl::join_frame<G> second(std::forward<G>(g));
    if (impl::at_limit(&second)) impl::slow_push(parent, &second, nullptr);
    second.next = nullptr;
    impl::handler_fence();
    parent->next = &second;
    impl::set_hot_head(&second);
    impl::handler_fence();
    f();
    const bool slow = impl::at_limit(&second);
    parent->next = nullptr;
    impl::set_hot_head(parent);
    if (slow && impl::slow_pop(parent, &second) != impl::outcome::not_run) return;
    second.g();
}

void wrong_tree(ledger& l, int depth, unsigned node) {
    l.at(node);
    if (depth == 0) return;
    fork_comparing_first([&, depth, node] { wrong_tree(l, depth - 1, 2 * node); },
                         [&, depth, node] { wrong_tree(l, depth - 1, 2 * node + 1); });
}

/// Marks a place that an exception passes.
struct marks_its_end {
    ~marks_its_end() { mark(); }
};

/// An exception out of first closures, past two frames.
long throws_first(ledger& l) {
    l.at(1);
    long caught = 0;
    try {
        join(
            [&] {
                const marks_its_end outer;
                join(
                    [&] {
                        const marks_its_end inner;
                        l.at(2);
                        throw test::failure{7};
                    },
                    [&] { l.at(200); });
                l.at(3); // must not be
            },
            [&] { l.at(201); });
    } catch (const test::failure& f) { caught = f.number; }
    join([&] { l.at(4); }, [&] { l.at(5); });
    return caught;
}

/// An exception out of a second closure, below a frame that was there before.
long throws_second(ledger& l) {
    l.at(1);
    long caught = 0;
    join(
        [&] {
            try {
                join([&] { l.at(2); },
                     [&] {
                         l.at(3);
                         throw test::failure{8};
                     });
            } catch (const test::failure& f) { caught = f.number; }
            l.at(4);
        },
        [&] { l.at(5); });
    return caught;
}

long group_of_three(ledger& l) {
    l.at(1);
    std::array<long, 3> parts{};
    task_group g;
    for (unsigned i = 0; i < 3; ++i) {
        g.run([&, i] {
            l.at(2 + i);
            parts[i] = 1L << (4 * i);
        });
        l.at(8 + i);
    }
    g.wait();
    l.at(12);
    return parts[0] + parts[1] + parts[2];
}

long nest(ledger& l) {
    l.at(1);
    std::atomic<long> sum{0};
    join(
        [&] {
            l.at(2);
            task_group g;
            for (unsigned i = 0; i < 2; ++i) {
                g.run([&, i] {
                    l.at(4 + i);
                    join([&, i] { l.at(8 + i), sum += 1; }, [&, i] { l.at(10 + i), sum += 10; });
                });
                join([&, i] { l.at(20 + i), sum += 100; }, [&, i] { l.at(22 + i), sum += 1000; });
            }
            g.wait();
            l.at(12);
        },
        [&] {
            l.at(3);
            task_group g;
            g.run([&] { join([&] { l.at(13), sum += 10'000; }, [&] { l.at(14), sum += 100'000; }); });
            l.at(15);
            g.wait();
        });
    return sum;
}

long loop_of_eight(ledger& l) {
    l.at(0);
    std::array<long, 8> squares{};
    parallel_for(1u, 9u,
                 [&](unsigned i) {
                     l.at(i);
                     squares[i - 1] = i * i;
                 },
                 {.grain = 1});
    l.at(9);
    long sum = 0;
    for (const long s : squares) sum += s;
    return sum;
}

const program programs[] = {
    {"fib_5", [](ledger& l) { return fib(l, 5, 1); }},
    {"fib_6", [](ledger& l) { return fib(l, 6, 1); }},
    {"fib_6_by_context", [](ledger& l) { return fib(context::current(), l, 6, 1); }},
    {"chain", [](ledger& l) { return l.at(0), chain(l, 6), 0L; }},
    {"throws_first", throws_first, 200},
    {"throws_second", throws_second},
    {"group_of_three", group_of_three},
    {"nest", nest},
    {"loop_of_eight", loop_of_eight},
};
const program wrong_program = {"wrong_tree", [](ledger& l) { return wrong_tree(l, 2, 1), 0L; }};

} // namespace
} // namespace weft

/// What every handler of an exception calls first, those of the library included. It is marked, since the
/// unwinder takes thousands of steps to come there.
extern "C" void* __cxxabiv1::__cxa_begin_catch(void* exception) noexcept {
    static const auto real = reinterpret_cast<void* (*)(void*)>(dlsym(RTLD_NEXT, "__cxa_begin_catch"));
    void* const caught = real(exception);
    weft::mark();
    return caught;
}

namespace weft {
namespace {

// ---- running them

class stepped_engine {
public:
    explicit stepped_engine(int workers, const std::string& trace = "")
        : settings_([&] {
            runtime_options o;
            o.workers = workers;
            o.seed = test::seed;
            o.pin = "off";
            o.trace = trace;
            api::settings s = api::resolve(o);
            s.threads.exposure_bound = 1h;
            s.threads.spin_time = 1h; // no worker sleeps
            return s;
        }()) {
        struct sigaction action{};
        action.sa_sigaction = on_trap;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        sigemptyset(&action.sa_mask);
        sigaction(SIGTRAP, &action, &trap_before_);
        std::signal(SIGALRM, on_alarm);
        now.trace.reserve(most_steps);
        for (auto& i : now.idle) i = false;
        // While no worker may take, the policy does not look at the engine, which it serves before it is
        // known.
        engine_ = std::make_unique<engine::thread_engine>(std::make_unique<puppeteer>(),
                                                          std::move(settings_.machine), settings_.threads);
        now.engine = engine_.get();
    }
    ~stepped_engine() {
        engine_.reset();
        sigaction(SIGTRAP, &trap_before_, nullptr);
        alarm(0);
    }

    /// Runs `p`; the plan is in `now`. Leaves the counts in `counts`.
    long run(const program& p) {
        alarm(30);
        for (auto& c : counts.ran) c = 0;
        now.marks = now.steps = 0;
        now.interrupted = false;
        for (shot& s : now.shots) s.fired = false;
        now.taken = now.given = 0;
        exposures_ = sum(&engine::worker_counters::exposures);
        returned_ = sum(&engine::worker_counters::returned);
        long result = 0;
        auto root = [&] {
            now.active = true;
            result = p.run(counts);
            now.active = false;
            clear_trap_flag();
        };
        engine::run_root(*engine_, {[](void* c) { (*static_cast<decltype(root)*>(c))(); }, &root});
        // The worker that ran the last child may be on its way still.
        EXPECT_TRUE(test::await([&] {
            for (int w = 0; w < engine_->worker_count(); ++w)
                if (!now.idle[static_cast<std::size_t>(w)]) return false;
            return true;
        }));
        for (auto& m : now.may_take) m = false;
        left_over_ = false;
        for (std::size_t w = 1; w < engine_->all_workers.size(); ++w) {
            if (engine_->all_workers[w]->slot.withdraw()) left_over_ = true;
            engine_->all_workers[0]->askers.erase(static_cast<std::uint32_t>(w));
        }
        exposures_ = sum(&engine::worker_counters::exposures) - exposures_;
        returned_ = sum(&engine::worker_counters::returned) - returned_;
        alarm(0);
        return result;
    }

    /// What was wrong with the run; empty if nothing was.
    std::string wrong(const program& p, const ledger& expected) const {
        std::string text;
        for (unsigned node = 0; node < counts.ran.size(); ++node) {
            const int ran = counts.ran[node], due = expected.ran[node];
            if (node >= p.optional_from ? ran > 1 : ran != due)
                text += " closure " + std::to_string(node) + " ran " + std::to_string(ran) + " times;";
        }
        if (left_over_) text += " an answer is left in a slot;";
        if (exposures_ != returned_ + now.taken + now.given)
            text += " " + std::to_string(exposures_) + " exposed, " + std::to_string(returned_) +
                    " returned, " + std::to_string(now.taken) + " taken, " + std::to_string(now.given) +
                    " given to the policy;";
        return text;
    }
    std::uint64_t exposures() const { return exposures_; }
    std::uint64_t returned() const { return returned_; }

    ledger counts;

private:
    std::uint64_t sum(engine::counter engine::worker_counters::* which) const {
        std::uint64_t s = 0;
        for (const auto& w : engine_->all_workers) s += (w->count.*which).get();
        return s;
    }

    api::settings settings_;
    struct sigaction trap_before_{};
    std::unique_ptr<engine::thread_engine> engine_;
    std::uint64_t exposures_ = 0, returned_ = 0;
    bool left_over_ = false;
};

struct point {
    unsigned stretch, step;
};

/// What a program does undisturbed, and the points of it that a test disturbs.
struct course {
    course(stepped_engine& on, const program& p, std::size_t most_steps_together, std::mt19937& random) {
        now.shots = {};
        now.reference = false;
        now.start = never;
        for (int i = 0; i < 3; ++i) result = on.run(p); // the first ones fill the caches of memory
        for (std::size_t n = 0; n < expected.ran.size(); ++n) expected.ran[n] = on.counts.ran[n].load();
        stretches = now.marks;
        now.reference = true;
        for (unsigned s = 0; s < stretches; ++s) {
            now.start = s;
            now.trace.clear();
            on.run(p);
            // Outside of this executable nothing is linked or compared: a few points there will do. Far away
            // from the mark is only what comes after the unwinder, and most of that has marks of its own.
            std::vector<point> near, far, elsewhere;
            for (unsigned step = 0; step < now.trace.size(); ++step)
                (!now.trace[step].own ? elsewhere : step < 1'000 ? near : far).push_back({s, step});
            steps += now.trace.size();
            const auto take = [&](std::vector<point>& from, std::size_t most) {
                std::shuffle(from.begin(), from.end(), random);
                from.resize(std::min(from.size(), most));
                points.insert(points.end(), from.begin(), from.end());
            };
            take(near, near.size());
            if (!thorough) std::erase_if(elsewhere, [](const point& at) { return at.step > 1'000; });
            take(elsewhere, thorough ? 64 : 4);
            all_points += near.size() + far.size() + elsewhere.size();
            take(far, thorough ? 8 : 0);
        }
        now.reference = false;
        if (thorough) return;
        std::shuffle(points.begin(), points.end(), random);
        std::size_t taken = 0;
        constexpr unsigned of_a_run = 20; // what starting and ending it costs, in steps
        for (std::size_t cost = 0; taken < points.size() && cost < most_steps_together; ++taken)
            cost += points[taken].step + of_a_run;
        points.resize(taken);
    }

    ledger expected;
    long result = 0;
    unsigned stretches = 0;
    std::size_t steps = 0, all_points = 0;
    std::vector<point> points;
};

/// Below `limit`.
unsigned number(unsigned limit, std::mt19937& random) { return static_cast<unsigned>(random()) % limit; }

enum class thief { never_takes, at_once, slow, late, never_asks };
constexpr const char* names_of_thieves[] = {"never takes", "takes at once", "is slow", "takes late",
                                            "did not ask"};

shot aimed(unsigned at, int who, thief how, std::mt19937& random) {
    switch (how) {
    case thief::never_takes: return {at, who, never, false};
    case thief::at_once: return {at, who, at, false};
    case thief::slow: return {at, who, at, true};
    case thief::late: return {at, who, at + 1 + number(32, random), number(2, random) == 0};
    case thief::never_asks: break;
    }
    return {at, 0, never, false};
}

class stepping : public testing::Test {
protected:
    std::mt19937 random{static_cast<std::uint32_t>(test::seed)};
    unsigned number(unsigned limit) { return weft::number(limit, random); }

    void check(stepped_engine& on, const program& p, const course& c) {
        now.waiters_to_owner = number(2) == 1;
        const shot &a = now.shots[0], &b = now.shots[1];
        std::snprintf(now.text, sizeof now.text,
                      "%s, stretch %u of %u: step %d thief %d takes at %d slow %d; step %d thief %d takes at "
                      "%d slow %d; "
                      "waiters %s; WEFT_TEST_SEED=%llu",
                      p.name, now.start, c.stretches, int(a.at), a.thief, int(a.take_at), a.slow, int(b.at),
                      b.thief, int(b.take_at), b.slow,
                      now.waiters_to_owner ? "to the owner" : "where they are woken",
                      static_cast<unsigned long long>(test::seed));
        const long result = on.run(p);
        EXPECT_EQ(result, c.result) << now.text;
        EXPECT_EQ(on.wrong(p, c.expected), "") << now.text;
        exposures += on.exposures();
        returned += on.returned();
        taken += now.taken;
        given += now.given;
        ++runs;
    }
    void report(const course& c) {
        std::printf(
            "%u stretches, %zu steps, %zu points of %zu: %llu runs, %llu exposed, %llu returned, %llu taken, "
            "%llu given, %u waits cut\n",
            c.stretches, c.steps, c.points.size(), c.all_points, runs, exposures, returned, taken, given,
            now.waits_cut.exchange(0));
    }

    unsigned long long runs = 0, exposures = 0, returned = 0, taken = 0, given = 0;
};

class single_step : public stepping, public testing::WithParamInterface<program> {};
INSTANTIATE_TEST_SUITE_P(program, single_step, testing::ValuesIn(programs),
                         [](const auto& tested) { return std::string(tested.param.name); });

// H1 to H4: the handler comes after each instruction of a fork and its return.
TEST_P(single_step, exposure_after_every_instruction) {
    WEFT_SEEDED;
    const program p = GetParam();
    stepped_engine on(2);
    const course c(on, p, 12'000, random);
    ASSERT_GT(c.points.size(), 20u);
    for (const thief how :
         {thief::never_takes, thief::at_once, thief::slow, thief::late, thief::never_asks}) {
        SCOPED_TRACE(names_of_thieves[static_cast<int>(how)]);
        // The first two are those that a wrong order shows at few instructions.
        const std::size_t stride = thorough || how <= thief::at_once ? 1 : how == thief::never_asks ? 6 : 3;
        for (std::size_t i = number(static_cast<unsigned>(stride)); i < c.points.size(); i += stride) {
            now.start = c.points[i].stretch;
            now.shots = {aimed(c.points[i].step, 1, how, random), {}};
            check(on, p, c);
            if (HasFailure()) return;
        }
        if (how == thief::never_takes) {
            EXPECT_EQ(taken, 0u);
            EXPECT_GT(returned, 0u);
        }
        if (how == thief::at_once) { EXPECT_GT(taken, 0u); }
    }
    report(c);
}

TEST_P(single_step, exposures_after_two_instructions) {
    WEFT_SEEDED;
    const program p = GetParam();
    stepped_engine on(3);
    const course c(on, p, 12'000, random);
    const int pairs = thorough ? 2'000 : test::sanitized ? 25 : 100;
    for (int i = 0; i < pairs; ++i) {
        const point first = c.points[number(static_cast<unsigned>(c.points.size()))];
        const auto some_thief = [this] { return static_cast<thief>(number(4)); };
        const unsigned distance = 1 + number(number(2) ? 8 : 80);
        now.start = first.stretch;
        now.shots = {aimed(first.step, 1, some_thief(), random),
                     aimed(first.step + distance, 2, some_thief(), random)};
        check(on, p, c);
        if (HasFailure()) return;
    }
    report(c);
}

// H3.
TEST_F(stepping, sees_a_comparison_before_the_unlinking) {
    WEFT_SEEDED;
    stepped_engine on(2);
    const course c(on, wrong_program, 1'000'000, random);
    std::size_t wrong = 0;
    for (const point at : c.points) {
        now.start = at.stretch;
        now.shots = {aimed(at.step, 1, thief::at_once, random), {}};
        on.run(wrong_program);
        if (!on.wrong(wrong_program, c.expected).empty()) ++wrong;
    }
    EXPECT_GT(wrong, 0u);
    EXPECT_LT(wrong, c.points.size() / 2);
    std::printf("%zu of %zu points\n", wrong, c.points.size());
}

// A thief that sleeps asks once, by one signal. Wherever it comes, what is linked by then or later must reach
// the thief before the leaf below ends, since a leaf never polls. A fork that compares before it links has
// points between the two where it does not: the signal finds nothing, and no worker looks again. A slow fork
// goes through the runtime: there the handler leaves its mark, and the way out must see it, or the ask.
void expect_no_ask_is_left(stepped_engine& on, std::mt19937& random, const program& p) {
    const course c(on, p, test::sanitized ? 12'000 : 1'000'000, random);
    std::string hidden;
    for (const point at : c.points) {
        now.start = at.stretch;
        now.shots = {aimed(at.step, 1, thief::at_once, random), {}};
        on.run(p);
        EXPECT_EQ(on.wrong(p, c.expected), "");
        if (now.taken == 0) hidden += " " + std::to_string(at.step);
    }
    EXPECT_EQ(hidden, "") << "not taken, of " << c.points.size() << " points of " << p.name;
}

template <bool Slow>
long fork_beside_a_leaf(ledger& l) {
    l.at(1);
    if (Slow) impl::hot_self()->hot->limit.store(0, std::memory_order_relaxed);
    join(
        [&] {
            if (now.reference || now.start == never) return;
            const auto until = clock_type::now() + 500ms;
            while (l.ran[2] == 0 && clock_type::now() < until) sched_yield();
        },
        [&] { l.ran[2].fetch_add(1); });
    return l.ran[2].load();
}

TEST_F(stepping, no_ask_is_left_beside_a_leaf) {
    WEFT_SEEDED;
    stepped_engine on(2);
    expect_no_ask_is_left(on, random, {"leaf", fork_beside_a_leaf<false>});
    expect_no_ask_is_left(on, random, {"leaf after a slow fork", fork_beside_a_leaf<true>});
}

// A traced fork links its entry before it has a number. What is exposed in between would be another task in the trace
// than the one that was forked.
TEST_F(stepping, an_exposed_entry_has_the_number_of_its_fork) {
    WEFT_SEEDED;
    const std::string path = test::trace_path("single_step");
    {
        const program p{"fib_5", [](ledger& l) { return fib(l, 5, 1); }};
        stepped_engine on(2, path);
        const course c(on, p, 60'000, random);
        for (const point at : c.points) {
            now.start = at.stretch;
            now.shots = {aimed(at.step, 1, thief::at_once, random), {}};
            check(on, p, c);
            if (HasFailure()) return;
        }
        EXPECT_GT(taken, 0u);
        report(c);
    }
    std::set<std::uint64_t> forked;
    std::size_t exposed = 0;
    const test::trace_read all(path);
    std::remove(path.c_str());
    for (const auto& [stream, records] : all.streams)
        for (const trace::record& r : records)
            if (r.what_kind == trace::kind::spawn) forked.insert(r.a);
    for (const auto& [stream, records] : all.streams)
        for (const trace::record& r : records) {
            if (r.what_kind != trace::kind::expose) continue;
            ++exposed;
            EXPECT_TRUE(forked.contains(r.a)) << "task " << r.a << " was exposed and never forked";
        }
    EXPECT_GT(exposed, 0u);
}

} // namespace
} // namespace weft

#else

TEST(single_step, needs_the_trap_flag_of_x86_and_no_sanitizer) { GTEST_SKIP(); }

#endif
