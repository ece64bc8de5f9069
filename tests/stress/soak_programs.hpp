#pragma once

#include <weft/weft.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/preempted.hpp"
#include "engine/programs.hpp"

/// Random nested programs whose tasks are preempted: teams that wait for each other in loops, in the kernel and by Weft, locks,
/// I/O, and, in tasks of type klt, all that depends on the kernel thread: malloc, exceptions, stdio, thread-local variables.
/// Which kinds a task may have follows docs/preemption.md. A node's value is known beforehand, by solve().
namespace weft::test::soak {

using programs::mixed;
using programs::value;

enum class kind : std::uint8_t {
    // in tasks of every type
    computing,
    joined,  ///< two children
    grouped, ///< any number of children, each with a type of its own in programs that mix types
    cancelled, ///< the same, cancelled in the middle; the value does not depend on the children, which do not meet others
    looped, ///< a parallel_for over the children
    met,    ///< members wait for each other at a weft::barrier
    locked, ///< members add up under a weft::mutex
    filed,  ///< writes into a file and reads it back
    // in tasks that are preempted
    spinning,    ///< members wait for each other in loops
    kernel_met,  ///< members wait for each other at a pthread_barrier
    spin_locked, ///< members add up under a lock for which they spin
    piped,       ///< one member writes into a pipe, the others read
    guarded,     ///< members allocate, print and throw under a guard, in programs whose tasks all do so
    last_of_yielding = guarded,
    // in tasks that keep their kernel thread
    allocating,    ///< members allocate and free
    thrown,        ///< a child; members throw through a join, and catch
    printed,       ///< members use stdio and its locks
    kernel_locked, ///< members add up under a std::mutex
    remembered,    ///< members look for their thread-local variable and errno again
    threaded,      ///< threads that are told to stop
    awaited,       ///< futures
    graphed,       ///< a graph
    drawn,         ///< a program of engine/programs.hpp
    last = drawn
};

struct node {
    kind what = kind::computing;
    preemption type = preemption::runtime_default; ///< of its task, if it is the child of a group
    int size = 1;                                  ///< members, if it has any
    value salt = 0, expected = 0;
    std::vector<node> children{};
    std::unique_ptr<programs::node> drawn{};
};

/// What types the tasks of a program have.
enum class types : std::uint8_t { klt, yield, both };

class generator {
public:
    generator(std::uint64_t seed, types of, int size) : random_(seed), types_(of), budget_(size) {}

    node program() { return make(0, types_ == types::yield ? preemption::yield : preemption::klt, true); }

private:
    int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

    /// `may_meet`: a member that is dropped would be waited for for ever.
    node make(int depth, preemption type, bool may_meet) {
        node n;
        n.type = type;
        n.salt = random_();
        n.size = 2 + below(5);
        if (--budget_ <= 0 || depth > 5) return n;
        const int kinds = 1 + static_cast<int>(type == preemption::klt ? kind::last : kind::last_of_yielding);
        n.what = static_cast<kind>(below(kinds));
        const bool is_wide = depth < 2; // or most programs would be a node or two
        if (is_wide || below(3) == 0) n.what = kind::grouped;
        if (n.what == kind::cancelled) may_meet = false;
        if (n.what == kind::guarded && types_ != types::yield) n.what = kind::spinning;
        if (!may_meet && meets(n.what)) n.what = kind::computing;
        const int children = is_wide ? 2 + below(5) : number_of_children(n.what);
        for (int i = 0; i < children; ++i) {
            preemption of = type;
            if (n.what == kind::grouped && types_ == types::both && below(3) == 0)
                of = type == preemption::klt ? preemption::yield : preemption::klt;
            n.children.push_back(make(depth + 1, of, may_meet));
        }
        if (n.what == kind::drawn)
            n.drawn = std::make_unique<programs::node>(programs::generator(random_(), 60).program());
        return n;
    }
    int number_of_children(kind k) {
        switch (k) {
        case kind::joined: return 2;
        case kind::thrown: return 1;
        case kind::grouped:
        case kind::looped:
        case kind::cancelled: return below(7);
        default: return 0;
        }
    }
    static bool meets(kind k) {
        return k == kind::met || k == kind::spinning || k == kind::kernel_met || k == kind::piped ||
               k == kind::drawn || k == kind::threaded;
    }

    std::mt19937_64 random_;
    const types types_;
    int budget_;
};

inline value computed(value salt) {
    value v = salt;
    for (value i = 0, turns = salt % 4096 * (salt % 64 == 0 ? 100 : 4); i < turns; ++i) v = mixed(v, i);
    return v;
}
inline value of_member(const node& n, int i) { return computed(mixed(n.salt, static_cast<value>(i)) | 1); }
inline value of_members(const node& n) {
    value sum = 0;
    for (int i = 0; i < n.size; ++i) sum += of_member(n, i);
    return sum;
}
inline value combined(const node& n, value of_children) { return mixed(n.salt, of_children); }

inline void solve(node& n) {
    value sum = 0;
    for (node& c : n.children) {
        solve(c);
        sum += c.expected;
    }
    switch (n.what) {
    case kind::computing: n.expected = computed(n.salt); return;
    case kind::joined:
    case kind::grouped:
    case kind::looped:
    case kind::thrown: n.expected = combined(n, sum); return;
    case kind::cancelled: n.expected = combined(n, 0); return;
    case kind::drawn:
        programs::solve(*n.drawn);
        n.expected = n.salt;
        return;
    default: n.expected = combined(n, of_members(n)); return;
    }
}
inline int count(const node& n) {
    int sum = 1;
    for (const node& c : n.children) sum += count(c);
    return sum;
}

// ---- the run

struct world {
    runtime& here;
    runtime& other;
    std::atomic<int> wrong{0}; ///< what was seen inside of a node
};

value eval(const node&, world&);

/// Members of a team: children of a group, whose values are added up. Nothing is allocated.
template <class Member>
value by_members(const node& n, const Member& member) {
    std::array<value, 8> of{};
    task_group g;
    for (int i = 0; i < n.size; ++i) g.run([&, i] { of[static_cast<std::size_t>(i)] = member(i); });
    g.wait();
    value sum = 0;
    for (const value v : of) sum += v;
    return combined(n, sum);
}

/// The same under a lock of any kind, with an update that is torn if the lock fails.
template <class Lock>
value by_members_under(const node& n, Lock& lock) {
    value sum = 0;
    task_group g;
    for (int i = 0; i < n.size; ++i)
        g.run([&, i] {
            const value v = of_member(n, i);
            const std::lock_guard guard(lock);
            const value before = sum;
            compute(static_cast<int>(v % 2000));
            sum = before + v;
        });
    g.wait();
    return combined(n, sum);
}

class spinning_lock {
public:
    void lock() noexcept {
        while (held_.exchange(true, std::memory_order_acquire)) {}
    }
    void unlock() noexcept { held_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> held_{false};
};

inline value in_file(const node& n, world& w) {
    const int file = memfd_create("soak", 0);
    const value all = of_members(n);
    value back = 0;
    if (file < 0 || pwrite(file, &all, sizeof all, 100) != sizeof all ||
        pread(file, &back, sizeof back, 100) != sizeof back)
        ++w.wrong;
    ::close(file);
    return combined(n, back);
}

inline value through_pipe(const node& n, world& w) {
    int ends[2];
    if (pipe(ends) != 0) return 0;
    const value got = by_members(n, [&](int i) {
        const value mine = of_member(n, i);
        if (i == 0) { // writes for all others, which may have begun to read
            for (int k = 1; k < n.size; ++k) {
                compute(20'000);
                if (::write(ends[1], &mine, sizeof mine) != sizeof mine) ++w.wrong;
            }
            return mine;
        }
        value read_back = 0;
        if (::read(ends[0], &read_back, sizeof read_back) != sizeof read_back || read_back != of_member(n, 0))
            ++w.wrong;
        return mine;
    });
    ::close(ends[0]);
    ::close(ends[1]);
    return got;
}

inline value allocated(value from) {
    std::map<value, std::string> kept;
    for (value i = 0; i < 20; ++i)
        kept[mixed(from, i)] = std::string(static_cast<std::size_t>(mixed(i, from) % 300), 'x');
    std::vector<std::unique_ptr<std::vector<value>>> blocks;
    for (value i = 0; i < 10; ++i)
        blocks.push_back(
            std::make_unique<std::vector<value>>(static_cast<std::size_t>(mixed(from, i) % 2000), i));
    value sum = 0;
    for (const auto& [key, text] : kept) sum += text.size();
    for (const auto& b : blocks)
        for (const value v : *b) sum += v;
    value expected = 0;
    for (value i = 0; i < 20; ++i) expected += mixed(i, from) % 300;
    for (value i = 0; i < 10; ++i) expected += mixed(from, i) % 2000 * i;
    return sum == expected ? from : ~from;
}

inline thread_local value of_this_thread = 0;
[[gnu::noinline, gnu::noipa]] inline value& word_of_this_thread() { return of_this_thread; }
[[gnu::noinline, gnu::noipa]] inline int& errno_of_this_thread() { return errno; }

inline value remembers(value v) {
    word_of_this_thread() = v;
    errno_of_this_thread() = static_cast<int>(v % 100);
    compute(100'000);
    return word_of_this_thread() == v && errno_of_this_thread() == static_cast<int>(v % 100) ? v : ~v;
}

inline std::FILE* const nowhere = std::fopen("/dev/null", "w");

inline value printed(value v) {
    char text[64];
    std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(v));
    std::fprintf(nowhere, "%s and %f\n", text, static_cast<double>(v % 1000) / 7);
    return std::strtoull(text, nullptr, 10);
}

inline value guarded(value v) {
    const preemption_guard of_the_thread;
    const value kept = allocated(v) == v && printed(v) == v ? v : ~v;
    try {
        throw std::runtime_error(std::to_string(v));
    } catch (const std::runtime_error& e) { return std::to_string(v) == e.what() ? kept : ~v; }
}

inline value thrown(const node& n, world& w) {
    try {
        const auto [a, b] = join(
            [&] {
                const value v = eval(n.children[0], w);
                if (v != n.children[0].expected && !this_task::is_cancelled()) ++w.wrong;
                return v;
            },
            [&]() -> value {
                compute(static_cast<int>(n.salt % 100'000));
                throw std::runtime_error(std::to_string(n.salt));
            });
        return a + b;
    } catch (const std::runtime_error& e) {
        compute(static_cast<int>(n.salt % 10'000));
        // The first half's value is lost with the exception of the second one.
        return std::to_string(n.salt) == e.what() ? combined(n, n.children[0].expected) : 0;
    }
}

inline value threaded(const node& n) {
    std::atomic<int> begun{0};
    std::atomic<value> sum{0};
    std::vector<jthread> threads;
    for (int i = 0; i < n.size; ++i)
        threads.emplace_back([&, i](const std::stop_token& stop) {
            ++begun;
            sum += of_member(n, i);
            while (!stop.stop_requested()) {}
        });
    while (begun < n.size) {}
    threads.clear();
    return combined(n, sum);
}

inline value awaited(const node& n) {
    std::vector<future<value>> to_come;
    for (int i = 0; i < n.size; ++i)
        to_come.push_back(async([&n, i, carried = std::vector<value>(300, 1)] {
            return of_member(n, i) + carried[static_cast<std::size_t>(i)] - 1;
        }));
    value sum = 0;
    for (auto& f : to_come) sum += f.get();
    return combined(n, sum);
}

inline value graphed(const node& n) {
    std::vector<value> of(static_cast<std::size_t>(n.size));
    value sum = 0;
    graph g;
    for (int i = 0; i < n.size; ++i) {
        value& mine = of[static_cast<std::size_t>(i)];
        g.add([&n, &mine, i] { mine = of_member(n, i); }, write(mine));
        g.add([&mine, &sum] { sum += mine; }, read(mine), readwrite(sum));
    }
    g.run();
    return combined(n, sum);
}

inline value drawn(const node& n, world& w) {
    programs::world of(w.here, w.other, programs::count(*n.drawn));
    bool right = false;
    try {
        right = programs::eval(*n.drawn, of) == n.drawn->expected && n.drawn->failures.empty();
    } catch (const failure& f) { right = n.drawn->failures.contains(f.number); }
    if (!right || of.closures.alive() != 0 || of.closures.misused.load() != 0) ++w.wrong;
    return n.salt;
}

inline value by_children(const node& n, world& w) {
    std::atomic<value> sum{0};
    task_group g;
    for (std::size_t i = 0; i < n.children.size(); ++i) {
        const node& c = n.children[i];
        if (c.type == n.type)
            g.run([&sum, &c, &w] { sum += eval(c, w); });
        else
            g.run([&sum, &c, &w] { sum += eval(c, w); }, {.preempt = c.type});
        if (n.what == kind::cancelled && i == n.children.size() / 2) g.cancel();
    }
    g.wait();
    return combined(n, n.what == kind::cancelled ? 0 : sum.load());
}

inline value eval(const node& n, world& w) {
    switch (n.what) {
    case kind::computing: return computed(n.salt);
    case kind::joined: {
        const auto [a, b] =
            join([&n, &w] { return eval(n.children[0], w); }, [&n, &w] { return eval(n.children[1], w); });
        return combined(n, a + b);
    }
    case kind::grouped:
    case kind::cancelled: return by_children(n, w);
    case kind::looped: {
        std::atomic<value> sum{0};
        parallel_for(std::size_t{0}, n.children.size(), [&](std::size_t i) { sum += eval(n.children[i], w); },
                     {.grain = 1});
        return combined(n, sum);
    }
    case kind::met: {
        barrier all(n.size);
        return by_members(n, [&](int i) {
            all.arrive_and_wait();
            const value v = of_member(n, i);
            all.arrive_and_wait();
            return v;
        });
    }
    case kind::locked: {
        mutex lock;
        return by_members_under(n, lock);
    }
    case kind::filed: return in_file(n, w);
    case kind::spinning: {
        spin_barrier all(n.size);
        return by_members(n, [&](int i) {
            all.wait();
            const value v = of_member(n, i);
            all.wait();
            return v;
        });
    }
    case kind::kernel_met: {
        pthread_barrier_t all;
        pthread_barrier_init(&all, nullptr, static_cast<unsigned>(n.size));
        const value v = by_members(n, [&](int i) {
            pthread_barrier_wait(&all);
            return of_member(n, i);
        });
        pthread_barrier_destroy(&all);
        return v;
    }
    case kind::spin_locked: {
        spinning_lock lock;
        return by_members_under(n, lock);
    }
    case kind::piped: return through_pipe(n, w);
    case kind::guarded: return by_members(n, [&](int i) { return guarded(of_member(n, i)); });
    case kind::allocating: return by_members(n, [&](int i) { return allocated(of_member(n, i)); });
    case kind::thrown: return thrown(n, w);
    case kind::printed: return by_members(n, [&](int i) { return printed(of_member(n, i)); });
    case kind::kernel_locked: {
        std::mutex lock;
        return by_members_under(n, lock);
    }
    case kind::remembered: return by_members(n, [&](int i) { return remembers(of_member(n, i)); });
    case kind::threaded: return threaded(n);
    case kind::awaited: return awaited(n);
    case kind::graphed: return graphed(n);
    case kind::drawn: return drawn(n, w);
    }
    return 0;
}

} // namespace weft::test::soak
