#pragma once

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "engine/support.hpp"

/// Random nested programs: trees of joins, groups, loops, reductions, futures, runs in other runtimes,
/// exceptions, catch blocks, cancellations and waits of every kind, drawn from a seed. solve() runs one as
/// plain code. It records for each node its value or, if it fails, the failures that it may throw: those of
/// either half of a join, of any child of a group. eval() runs it under the runtimes of a world.
namespace weft::test::programs {

using value = std::uint64_t;

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
    /// Programs of at most `size` nodes, or a few more.
    explicit generator(std::uint64_t seed, int size = 200) : random_(seed), size_(size) {}

    node program() {
        budget_ = size_ / 10 + below(size_ - size_ / 10);
        return make(0, {});
    }

private:
    int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

    struct circumstances {
        bool may_fail = true;
        bool may_meet = true; ///< a node that waits for a sibling would wait for ever if that one was dropped
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
    int size_;
    int budget_ = 0;
    int next_ = 0;
};

inline int count(const node& n) {
    return std::accumulate(n.children.begin(), n.children.end(), 1,
                           [](int sum, const node& c) { return sum + count(c); });
}

inline value loop_value(const node& n, int i) { return mixed(n.salt, static_cast<value>(i)); }
inline int iterations(const node& n) { return static_cast<int>(n.salt % 300); }

inline value spin(const node& n) {
    value v = n.salt;
    const auto turns = n.salt % 8000;
    for (value i = 0; i < turns; ++i) v = mixed(v, i);
    return v;
}

inline value combined(const node& n, const std::vector<value>& of) {
    return std::accumulate(of.begin(), of.end(), n.salt, mixed);
}

/// The plain run.
inline void solve(node& n) {
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
    bool learns_grains = true; ///< by the clock; else every loop is told
    std::vector<std::atomic<int>> visits;

    world(runtime& h, runtime& o, int nodes) : here(&h), other(&o), visits(static_cast<std::size_t>(nodes)) {}

    std::size_t grain(value drawn) const {
        return static_cast<std::size_t>(learns_grains ? drawn : drawn + 1);
    }
};

value eval(const node& n, world& w);

inline value eval_context(context ctx, const node& n, world& w) {
    if (n.what != kind::context_joined) return ctx.enter([&] { return eval(n, w); });
    ++w.visits[static_cast<std::size_t>(n.number)];
    const tracked mine(w.closures);
    const auto [a, b] = join(
        ctx, [&n, &w](context c) { return eval_context(c, n.children[0], w); },
        [&n, &w, mine](context c) { return eval_context(c, n.children[1], w); });
    return combined(n, {a, b});
}

inline void grow(task_group& g, const node& n, world& w, std::vector<value>& values, std::size_t i) {
    if (i == values.size()) return;
    g.run([&g, &n, &w, &values, i, mine = tracked(w.closures)] {
        grow(g, n, w, values, i + 1);
        values[i] = eval(n.children[i], w);
    });
}

// At the end of a scope, also while an exception propagates: other tasks wait for it.
template <class Semaphore>
struct leaving_releases {
    Semaphore& s;
    ~leaving_releases() { s.release(); }
};
struct leaving_arrives {
    barrier<>& b;
    ~leaving_arrives() { b.arrive_and_wait(); }
};

inline value eval_children(const node& n, world& w) {
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
                     {.grain = w.grain(n.salt % 3)});
        break;
    case kind::fine_looped: {
        std::atomic<value> sum{0};
        parallel_for(0, iterations(n),
                     [&](int i) { sum.fetch_add(loop_value(n, i), std::memory_order_relaxed); },
                     {.grain = w.grain(n.salt % 5)});
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

inline value eval(const node& n, world& w) {
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

/// The nodes that every run visits: none that follow a failure, and none that are cancelled.
inline void expect_visits(const node& n, const world& w, bool surely) {
    const int visits = w.visits[static_cast<std::size_t>(n.number)].load();
    if (surely)
        EXPECT_EQ(visits, 1) << "node " << n.number;
    else
        EXPECT_LE(visits, 1) << "node " << n.number;
    const bool children = surely && n.what != kind::cancelled && n.failures.empty() && n.what != kind::caught;
    for (const node& c : n.children) expect_visits(c, w, children);
}

} // namespace weft::test::programs
