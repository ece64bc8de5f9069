// ctest: timeout=120 labels=slow
//
// Random nested programs under every policy, compared with the same programs run as plain code.
//
// A program is a tree of joins, groups, loops, reductions, futures, runs in other runtimes, exceptions, catch
// blocks, cancellations and waits of every kind, drawn from a seed. The plain run says for each node its
// value or, if it fails, which failures may come out of it: those of either half of a join, of any child of a
// group.
//
// Program i has seed WEFT_TEST_SEED + i, and a failure names the seed with which its program is the first
// one. WEFT_TEST_PROGRAMS is the number of programs, WEFT_TEST_POLICIES a list of policies, separated by
// ';'.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "engine/support.hpp"

namespace weft {
namespace {

using test::failure;
using test::lives;
using test::tracked;
using value = std::uint64_t;

const auto programs_given = test::take_variable("WEFT_TEST_PROGRAMS");
const auto policies_given = test::take_variable("WEFT_TEST_POLICIES");

constexpr value mixed(value a, value b) {
    value z = a * 0x9e3779b97f4a7c15u + b + 0x7f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// ---- the program

enum class kind : std::uint8_t {
    leaf,
    spinning_leaf,  ///< long enough to be found by thieves
    sleeping_leaf,  ///< for some microseconds
    throwing,       ///< throws its number
    joined,         ///< two children
    context_joined, ///< two children, by the form with a context
    invoked,        ///< one to four children
    grouped,        ///< any number of children, one wait
    abandoned,      ///< the same without a wait; its children do not fail
    waited_twice,   ///< half of the children before the first wait
    shared,         ///< the children are added to one group by the children of another
    growing,        ///< each child adds the next one to the group
    cancelled,      ///< cancelled in the middle; the value does not depend on the children, which do not fail
    looped,         ///< parallel_for over the children
    fine_looped,    ///< a loop of many short iterations, no children
    reduced,        ///< parallel_reduce over the children
    caught,         ///< one child, whose failure is caught
    unwinding,      ///< fails with its number while a group with the children is open
    awaited,        ///< the children through futures, taken from the last to the first
    locked,         ///< in a group, adding up under a mutex that is held across a yield
    throttled,      ///< in a group, two at a time by a semaphore
    met,            ///< in a group, all wait for each other before they end; never in what is cancelled
    elsewhere,      ///< one child in another runtime
    again,          ///< one child by run() of this runtime
    last = again
};

struct node {
    kind what = kind::leaf;
    int number = 0;
    value salt = 0;
    std::vector<node> children{};
    // What the plain run found.
    value expected = 0;
    std::set<int> failures{}; ///< empty: it has a value
};

class generator {
public:
    explicit generator(std::uint64_t seed) : random_(seed) {}

    node program() {
        budget_ = 20 + below(180);
        return make(0, {});
    }

private:
    int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

    struct circumstances {
        bool may_fail = true;
        bool may_meet = true; ///< what waits for a sibling would wait for ever if that was dropped
    };

    node leaf(bool may_fail) {
        const int which = below(40);
        return finished({.what = which == 0 && may_fail ? kind::throwing
                                 : which < 12           ? kind::spinning_leaf
                                 : which < 14           ? kind::sleeping_leaf
                                                        : kind::leaf});
    }

    node finished(node n) {
        n.number = next_++;
        n.salt = random_();
        return n;
    }

    node make(int depth, circumstances may) {
        if (--budget_ <= 0 || depth > 9 || below(6) == 0) return leaf(may.may_fail);
        constexpr int first = static_cast<int>(kind::throwing) + 1;
        node n{.what = static_cast<kind>(first + below(static_cast<int>(kind::last) + 1 - first))};
        if (n.what == kind::met && !may.may_meet) n.what = kind::grouped;
        int children = 0;
        circumstances within = may;
        switch (n.what) {
        case kind::fine_looped: break;
        case kind::joined:
        case kind::context_joined: children = 2; break;
        case kind::invoked: children = 1 + below(4); break;
        case kind::caught: children = 1, within.may_fail = true; break;
        case kind::elsewhere:
        case kind::again: children = 1; break;
        case kind::unwinding:
            if (!may.may_fail || below(3)) n.what = kind::grouped;
            children = below(5);
            break;
        case kind::abandoned: children = below(6), within.may_fail = false; break;
        case kind::cancelled: children = below(6), within = {false, false}; break;
        default: children = below(6); break;
        }
        for (int i = 0; i < children; ++i) n.children.push_back(make(depth + 1, within));
        return finished(std::move(n));
    }

    std::mt19937_64 random_;
    int budget_ = 0;
    int next_ = 0;
};

int count(const node& n) {
    return std::accumulate(n.children.begin(), n.children.end(), 1,
                           [](int sum, const node& c) { return sum + count(c); });
}

value loop_value(const node& n, int i) { return mixed(n.salt, static_cast<value>(i)); }
int iterations(const node& n) { return static_cast<int>(n.salt % 300); }

value spin(const node& n) {
    value v = n.salt;
    const auto turns = n.salt % 8000;
    for (value i = 0; i < turns; ++i) v = mixed(v, i);
    return v;
}

value combined(const node& n, const std::vector<value>& of) {
    return std::accumulate(of.begin(), of.end(), n.salt, mixed);
}

/// The plain run.
void solve(node& n) {
    for (node& c : n.children) solve(c);
    n.failures.clear();
    std::vector<value> values;
    for (const node& c : n.children) {
        values.push_back(c.expected);
        n.failures.insert(c.failures.begin(), c.failures.end());
    }
    n.expected = combined(n, values);
    switch (n.what) {
    case kind::spinning_leaf: n.expected = spin(n); break;
    case kind::throwing: n.failures = {n.number}; break;
    case kind::unwinding: n.failures = {n.number}; break;
    case kind::cancelled: n.expected = n.salt; break;
    case kind::caught:
        if (!n.failures.empty()) n.expected = ~n.salt;
        n.failures.clear();
        break;
    case kind::locked:
    case kind::reduced: {
        value sum = 0;
        for (const value v : values) sum += v;
        n.expected = mixed(n.salt, sum);
        break;
    }
    case kind::fine_looped: {
        value sum = 0;
        for (int i = 0; i < iterations(n); ++i) sum += loop_value(n, i);
        n.expected = sum;
        break;
    }
    case kind::joined:
    case kind::context_joined: // the first one's wins
        if (!n.children[0].failures.empty()) n.failures = n.children[0].failures;
        break;
    default: break;
    }
}

// ---- the parallel run

struct world {
    runtime* here;
    runtime* other;
    lives closures{};
    std::vector<std::atomic<int>> visits;

    world(runtime& h, runtime& o, int nodes) : here(&h), other(&o), visits(static_cast<std::size_t>(nodes)) {}
};

value eval(const node& n, world& w);

value eval_context(context ctx, const node& n, world& w) {
    if (n.what != kind::context_joined) return ctx.enter([&] { return eval(n, w); });
    ++w.visits[static_cast<std::size_t>(n.number)];
    const tracked mine(w.closures);
    const auto [a, b] = join(
        ctx, [&n, &w](context c) { return eval_context(c, n.children[0], w); },
        [&n, &w, mine](context c) { return eval_context(c, n.children[1], w); });
    return combined(n, {a, b});
}

void grow(task_group& g, const node& n, world& w, std::vector<value>& values, std::size_t i) {
    if (i == values.size()) return;
    g.run([&g, &n, &w, &values, i, mine = tracked(w.closures)] {
        grow(g, n, w, values, i + 1);
        values[i] = eval(n.children[i], w);
    });
}

// At the end of a scope, also while an exception passes: others wait for it.
template <class Semaphore>
struct leaving_releases {
    Semaphore& s;
    ~leaving_releases() { s.release(); }
};
struct leaving_arrives {
    barrier<>& b;
    ~leaving_arrives() { b.arrive_and_wait(); }
};

value eval_children(const node& n, world& w) {
    const std::size_t count = n.children.size();
    std::vector<value> values(count);
    const tracked mine(w.closures);
    const auto child = [&n, &w, &values, mine](std::size_t i) {
        return [&n, &w, &values, i, mine] { values[i] = eval(n.children[i], w); };
    };
    switch (n.what) {
    case kind::joined: {
        const auto [a, b] = join([&n, &w] { return eval(n.children[0], w); },
                                 [&n, &w, mine] { return eval(n.children[1], w); });
        return combined(n, {a, b});
    }
    case kind::invoked:
        switch (count) {
        case 1: parallel_invoke(child(0)); break;
        case 2: parallel_invoke(child(0), child(1)); break;
        case 3: parallel_invoke(child(0), child(1), child(2)); break;
        default: parallel_invoke(child(0), child(1), child(2), child(3)); break;
        }
        break;
    case kind::grouped: {
        task_group g;
        for (std::size_t i = 0; i < count; ++i) g.run(child(i));
        g.wait();
        break;
    }
    case kind::abandoned: {
        task_group g;
        for (std::size_t i = 0; i < count; ++i) g.run(child(i));
        break;
    }
    case kind::waited_twice: {
        task_group g(hints{.work = 3});
        for (std::size_t i = 0; i < count; ++i) {
            if (i == count / 2) g.wait();
            g.run(child(i), hints{.work = 1, .name = "child"});
        }
        g.wait();
        g.wait();
        break;
    }
    case kind::shared: {
        task_group g;
        {
            task_group adders;
            for (std::size_t i = 0; i < count; ++i) adders.run([&g, &child, i, mine] { g.run(child(i)); });
            adders.wait();
        }
        g.wait();
        break;
    }
    case kind::growing: {
        task_group g;
        grow(g, n, w, values, 0);
        g.wait();
        break;
    }
    case kind::cancelled: {
        task_group g;
        for (std::size_t i = 0; i < count; ++i) {
            g.run(child(i));
            if (i == count / 2) g.cancel();
        }
        g.wait();
        return n.salt;
    }
    case kind::looped:
        parallel_for(std::size_t{0}, count, [&](std::size_t i) { values[i] = eval(n.children[i], w); },
                     {.grain = static_cast<std::size_t>(n.salt % 3)});
        break;
    case kind::fine_looped: {
        std::atomic<value> sum{0};
        parallel_for(0, iterations(n),
                     [&](int i) { sum.fetch_add(loop_value(n, i), std::memory_order_relaxed); },
                     {.grain = static_cast<std::size_t>(n.salt % 5)});
        return sum;
    }
    case kind::reduced:
        return mixed(n.salt,
                     parallel_reduce(
                         n.children.begin(), n.children.end(), value{0}, [&](auto c) { return eval(*c, w); },
                         [](value a, value b) { return a + b; }));
    case kind::unwinding: {
        task_group g;
        for (std::size_t i = 0; i < count; ++i) g.run(child(i));
        throw failure{n.number};
    }
    case kind::caught: try { child(0)();
        } catch (const failure& f) {
            // Waiting inside a catch block: what is caught must still be there afterwards.
            if (n.salt % 2) {
                task_group g;
                for (int i = 0; i < 3; ++i) g.run([mine] {});
                g.wait();
            }
            const auto& may = n.children[0].failures;
            return may.contains(f.number) ? ~n.salt : 0;
        }
        break;
    case kind::awaited: {
        std::vector<future<value>> to_come;
        for (std::size_t i = 0; i < count; ++i)
            to_come.push_back(async([&n, &w, i, mine] { return eval(n.children[i], w); }));
        for (std::size_t i = count; i-- > 0;) values[i] = to_come[i].get();
        break;
    }
    case kind::locked: {
        mutex m;
        value sum = 0;
        task_group g;
        for (std::size_t i = 0; i < count; ++i)
            g.run([&, i, mine] {
                const value v = eval(n.children[i], w);
                const std::lock_guard lock(m);
                const value before = sum;
                if (v % 2) this_task::yield();
                sum = before + v;
            });
        g.wait();
        return mixed(n.salt, sum);
    }
    case kind::throttled: {
        counting_semaphore<2> places(2);
        task_group g;
        for (std::size_t i = 0; i < count; ++i)
            g.run([&, i, mine] {
                places.acquire();
                const leaving_releases<counting_semaphore<2>> at_end{places};
                values[i] = eval(n.children[i], w);
            });
        g.wait();
        break;
    }
    case kind::met: {
        barrier all(static_cast<std::ptrdiff_t>(count) + 1);
        task_group g;
        for (std::size_t i = 0; i < count; ++i)
            g.run([&, i, mine] {
                const leaving_arrives at_end{all};
                values[i] = eval(n.children[i], w);
            });
        all.arrive_and_wait();
        g.wait();
        break;
    }
    case kind::elsewhere: values[0] = w.other->run([&] { return eval(n.children[0], w); }); break;
    case kind::again: values[0] = w.here->run([&] { return eval(n.children[0], w); }); break;
    default: break;
    }
    return combined(n, values);
}

value eval(const node& n, world& w) {
    switch (n.what) {
    case kind::context_joined: return eval_context(context::current(), n, w);
    case kind::leaf: ++w.visits[static_cast<std::size_t>(n.number)]; return n.salt;
    case kind::spinning_leaf: ++w.visits[static_cast<std::size_t>(n.number)]; return spin(n);
    case kind::sleeping_leaf:
        ++w.visits[static_cast<std::size_t>(n.number)];
        this_task::sleep_for(std::chrono::microseconds(n.salt % 100));
        return n.salt;
    case kind::throwing: ++w.visits[static_cast<std::size_t>(n.number)]; throw failure{n.number};
    default: ++w.visits[static_cast<std::size_t>(n.number)]; return eval_children(n, w);
    }
}

/// Nodes that every run visits: none that come after a failure, or that are cancelled.
void expect_visits(const node& n, const world& w, bool surely) {
    const int visits = w.visits[static_cast<std::size_t>(n.number)].load();
    if (surely)
        EXPECT_EQ(visits, 1) << "node " << n.number;
    else
        EXPECT_LE(visits, 1) << "node " << n.number;
    const bool children = surely && n.what != kind::cancelled && n.failures.empty() && n.what != kind::caught;
    for (const node& c : n.children) expect_visits(c, w, children);
}

// ---- what is running, for whoever looks at a hang or a crash

class watchdog {
public:
    watchdog() {
        for (const int s : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) std::signal(s, report_signal);
        thread_ = std::thread([this] { watch(); });
    }
    ~watchdog() {
        {
            const std::lock_guard lock(mutex_);
            done_ = true;
        }
        wake_.notify_one();
        thread_.join();
    }
    void now(const std::string& what) {
        const std::lock_guard lock(mutex_);
        std::snprintf(doing, sizeof doing, "%s", what.c_str());
        ++steps_;
    }

private:
    static inline char doing[256];
    static constexpr std::chrono::seconds patience{90};

    static void report_signal(int s) {
        const auto say = [](const char* text) {
            static_cast<void>(!write(2, text, std::char_traits<char>::length(text)));
        };
        say("\ncrashed in: "), say(doing), say("\n");
        std::signal(s, SIG_DFL);
        std::raise(s);
    }
    void watch() {
        std::unique_lock lock(mutex_);
        for (auto seen = steps_; !wake_.wait_for(lock, patience, [&] { return done_; }); seen = steps_)
            if (seen == steps_) {
                std::fprintf(stderr, "\nhangs in: %s\n", doing);
                std::abort();
            }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    bool done_ = false;
    unsigned long steps_ = 0;
    std::thread thread_;
};

std::vector<std::string> chosen_policies() {
    if (!policies_given) {
        auto list = test::all_policies;
        list.insert(list.end(), {"chaos:of=steal", "chaos:hold=60,of=steal:zone=reported",
                                 "chaos:of=steal-parent-first"});
        return list;
    }
    std::vector<std::string> list;
    for (std::size_t at = 0; at <= policies_given->size();) {
        const auto end = std::min(policies_given->find(';', at), policies_given->size());
        list.push_back(policies_given->substr(at, end - at));
        at = end + 1;
    }
    return list;
}

TEST(engine_programs, same_results_as_plain_code) {
    const std::uint64_t programs = programs_given ? std::stoull(*programs_given) : 300;
    constexpr std::uint64_t batch = 10; // programs for which the runtimes live
    constexpr std::chrono::seconds longest{20};
    const auto until = std::chrono::steady_clock::now() + longest;
    const auto configurations = test::setups(chosen_policies(), {1, 2, 3, 4});
    std::printf("WEFT_TEST_SEED=%llu\n", static_cast<unsigned long long>(test::seed));
    std::fflush(stdout);
    watchdog dog;

    for (std::uint64_t first = 0; first < programs && !HasFailure(); first += batch) {
        if (!programs_given && std::chrono::steady_clock::now() > until) break;
        std::vector<node> nodes;
        for (std::uint64_t i = first; i < std::min(first + batch, programs); ++i) {
            nodes.push_back(generator(test::seed + i).program());
            solve(nodes.back());
        }
        for (const auto& s : configurations) {
            runtime rt(s.options());
            runtime other(test::setup{s.policy, 1 + s.workers % 2}.options());
            for (std::size_t i = 0; i < nodes.size(); ++i) {
                const node& program = nodes[i];
                const std::string what = "WEFT_TEST_SEED=" + std::to_string(test::seed + first + i) +
                                         " WEFT_TEST_PROGRAMS=1, " + s.policy + ", " +
                                         std::to_string(s.workers) + " workers";
                SCOPED_TRACE(what);
                dog.now(what);
                world w(rt, other, count(program));
                std::optional<value> result;
                std::optional<int> failed;
                try {
                    result = rt.run([&] { return eval(program, w); });
                } catch (const failure& f) { failed = f.number; }
                if (program.failures.empty()) {
                    EXPECT_EQ(result, program.expected);
                } else {
                    EXPECT_TRUE(failed && program.failures.contains(*failed)) << failed.value_or(-1);
                }
                expect_visits(program, w, true);
                EXPECT_EQ(w.closures.alive(), 0);
                EXPECT_EQ(w.closures.misused.load(), 0);
            }
        }
    }
}

// Several runtimes at once, each with a program of its own and more workers in all than there are cores.
TEST(engine_programs, in_several_runtimes_at_once) {
    const std::uint64_t programs = programs_given ? std::stoull(*programs_given) : 40;
    const auto policies = chosen_policies();
    watchdog dog;
    dog.now("several runtimes, WEFT_TEST_SEED=" + std::to_string(test::seed));
    std::vector<std::thread> threads;
    std::atomic<std::uint64_t> bad{0};
    runtime shared(test::setup{policies.back(), 2}.options());
    for (std::size_t t = 0; t < policies.size(); ++t)
        threads.emplace_back([&, t] {
            runtime own(test::setup{policies[t], 2}.options());
            for (std::uint64_t i = 0; i < programs; ++i) {
                const std::uint64_t seed = test::seed + 1000 * t + i;
                node program = generator(seed).program();
                solve(program);
                world w(i % 2 ? own : shared, i % 2 ? shared : own, count(program));
                bool right = false;
                try {
                    right = w.here->run([&] { return eval(program, w); }) == program.expected &&
                            program.failures.empty();
                } catch (const failure& f) { right = program.failures.contains(f.number); }
                if (!right) bad = seed;
                dog.now("several runtimes, WEFT_TEST_SEED=" + std::to_string(test::seed));
            }
        });
    for (auto& t : threads) t.join();
    EXPECT_EQ(bad.load(), 0u) << "the program with this seed, WEFT_TEST_SEED=" << test::seed;
}

// A thief takes the rest of a task while the child above that rest ends, on a fiber that is then used for
// another child: what the thief reads of the entry must not be that fiber's any more.
TEST(engine_programs, the_rest_of_a_task_is_taken_while_its_child_ends) {
    constexpr int repeats = test::sanitized ? 3'000 : 30'000;
    constexpr std::chrono::seconds longest{8};
    watchdog dog;
    for (const char* policy : {"steal", "near"}) {
        const auto until = std::chrono::steady_clock::now() + longest;
        runtime rt(test::setup{policy, 2}.options()), other(test::setup{policy, 1}.options());
        for (int i = 0; i < repeats && std::chrono::steady_clock::now() < until; ++i) {
            if (i % 1000 == 0) dog.now(std::string("the rest of a task, ") + policy);
            std::atomic<int> inner{0}, outer{0};
            rt.run([&] {
                task_group g;
                g.run([&] {
                    task_group h;
                    h.run([&] {
                        other.run([] {}); // suspends, and so lays open the rests of both tasks
                        ++inner;
                    });
                    h.run([&] { ++inner; });
                    h.run([&] { ++inner; });
                    h.wait();
                    outer += inner == 3;
                });
                g.run([&] {
                    value v = 0;
                    for (value turn = 0; turn < 500; ++turn) v = mixed(v, turn);
                    outer += v != 1;
                });
                g.wait();
                if (outer == 2) return;
                std::fprintf(stderr, "a wait returned before its children were done, %s, turn %d\n", policy,
                             i);
                std::abort(); // they run on and would use what is gone
            });
        }
    }
}

} // namespace
} // namespace weft
