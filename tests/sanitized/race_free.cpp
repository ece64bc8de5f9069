// A program without a race that uses all of Weft with plain data: a sanitizer has nothing to report. It is built with a
// sanitizer, the library without. Prints "race_free: ok", or what went wrong.
#include <weft/weft.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

int rounds = 20;

void expect(bool is_so, const char* what) {
    if (is_so) return;
    std::printf("race_free: wrong: %s\n", what);
    std::exit(1);
}

/// Long enough that another worker takes part.
void dawdle() {
    volatile unsigned x = 1;
    for (int i = 0; i < 200; ++i) x = x * 1664525u + 1013904223u;
}

long sum_of(const std::vector<long>& v) { return std::accumulate(v.begin(), v.end(), 0L); }

// ---- joins

struct tree {
    std::unique_ptr<tree> left, right;
    long value = 0;
};
std::unique_ptr<tree> grow(int depth) {
    auto t = std::make_unique<tree>();
    t->value = 1;
    if (depth == 0) return dawdle(), std::move(t);
    weft::join([&] { t->left = grow(depth - 1); }, [&] { t->right = grow(depth - 1); });
    return t;
}
long count(const tree* t) {
    if (!t) return 0;
    const auto [a, b] =
        weft::join([t] { return count(t->left.get()); }, [t] { return count(t->right.get()); });
    return a + b + t->value;
}
long fib(weft::context ctx, long n) {
    if (n < 2) return n;
    const auto [a, b] = weft::join(
        ctx, [n](weft::context c) { return fib(c, n - 1); }, [n](weft::context c) { return fib(c, n - 2); });
    return a + b;
}
void joins() {
    const auto t = grow(9);
    expect(count(t.get()) == 1023, "a tree built by joins");
    expect(fib(weft::context::current(), 16) == 987, "a join with a context");
}
void invokes() {
    std::string a, b, c;
    weft::parallel_invoke([&] { a.assign(40, 'a'); }, [&] { b.assign(41, 'b'); }, [&] { c.assign(42, 'c'); });
    expect(a.size() + b.size() + c.size() == 123, "parallel_invoke");
}
void failing_joins() {
    std::vector<int> seen(2);
    for (int which = 0; which < 3; ++which) {
        try {
            weft::join(
                [&] {
                    dawdle();
                    seen[0] = which;
                    if (which != 1) throw std::runtime_error(std::string(50, 'f'));
                },
                [&] {
                    dawdle();
                    seen[1] = which;
                    if (which != 0) throw std::runtime_error(std::string(50, 'g'));
                });
            expect(false, "an exception of a join");
        } catch (const std::runtime_error& e) { expect(std::string(e.what()).size() == 50, "its text"); }
    }
}

// ---- groups and futures

void groups() {
    std::vector<std::vector<long>> parts(64);
    weft::task_group g;
    for (std::size_t i = 0; i < parts.size(); ++i)
        g.run([&parts, i] {
            dawdle();
            parts[i].assign(i, 1);
        });
    g.wait();
    long all = 0;
    for (const auto& p : parts) all += sum_of(p);
    expect(all == 64 * 63 / 2, "the children of a group");
    for (std::size_t i = 0; i < parts.size(); ++i)
        g.run([&parts, i] { parts[i].push_back(static_cast<long>(i)); }); // again
    g.wait();
    expect(parts[63].size() == 64, "a group used twice");

    weft::task_group failing;
    for (int i = 0; i < 8; ++i)
        failing.run([i] {
            dawdle();
            if (i == 3) throw std::runtime_error(std::string(60, 'x'));
        });
    try {
        failing.wait();
        expect(false, "an exception of a child");
    } catch (const std::runtime_error& e) { expect(std::string(e.what()).size() == 60, "its text"); }

    weft::task_group dropped;
    const auto shared = std::make_shared<std::vector<long>>(10, 1);
    for (int i = 0; i < 32; ++i) {
        dropped.run([shared] { dawdle(); });
        if (i == 16) dropped.cancel();
    }
    dropped.wait();
    expect(shared.use_count() == 1, "the closures of a cancelled group");
}
void nested_groups(int depth, std::vector<long>& out, std::size_t from, std::size_t to) {
    if (depth == 0 || to - from < 2) {
        for (std::size_t i = from; i < to; ++i) out[i] += 1;
        return dawdle();
    }
    weft::task_group g;
    const std::size_t middle = (from + to) / 2;
    g.run([&, middle] { nested_groups(depth - 1, out, from, middle); });
    g.run([&, middle] { nested_groups(depth - 1, out, middle, to); });
    g.wait();
}
void futures() {
    std::vector<weft::future<std::vector<long>>> all;
    for (long i = 0; i < 24; ++i)
        all.push_back(weft::async([i] {
            dawdle();
            return std::vector<long>(static_cast<std::size_t>(i), i);
        }));
    long total = 0;
    for (auto& f : all) total += sum_of(f.get());
    expect(total == 23 * 24 * 47 / 6, "futures");
    auto slow = weft::async([] {
        weft::this_task::sleep_for(std::chrono::milliseconds(2));
        return std::string(30, 's');
    });
    while (slow.wait_for(std::chrono::microseconds(300)) != std::future_status::ready) {}
    expect(slow.get().size() == 30, "a future with a timeout");
}

// ---- loops

void loops() {
    std::vector<long> v(20'000), w(v.size());
    weft::parallel_for(std::size_t{0}, v.size(), [&](std::size_t i) { v[i] = static_cast<long>(i % 100); });
    weft::parallel_for(std::size_t{0}, v.size(), [&](std::size_t i) { w[i] = v[v.size() - 1 - i]; });
    const long total = weft::parallel_reduce(
        std::size_t{0}, w.size(), 0L, [&](std::size_t i) { return w[i]; },
        [](long a, long b) { return a + b; });
    expect(total == sum_of(v), "a reduction");
    std::vector<long> sums(v.size());
    weft::parallel_scan(v.begin(), v.end(), sums.begin(), 0L, std::plus<>());
    expect(sums.back() == total, "a scan");
    std::vector<std::string> words(3'000);
    for (std::size_t i = 0; i < words.size(); ++i)
        words[i] = std::string(20, 'w') + std::to_string(i * 7919 % words.size());
    weft::parallel_sort(words.begin(), words.end());
    expect(std::is_sorted(words.begin(), words.end()), "a sort");
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<long>(i * 7919 % v.size());
    weft::parallel_sort(v.begin(), v.end());
    expect(std::is_sorted(v.begin(), v.end()), "a sort of numbers");
    std::vector<double> x(v.begin(), v.end());
    weft::parallel_sort(x.begin(), x.end(), std::greater<>());
    expect(x.front() == static_cast<double>(v.back()), "a sort of floating-point numbers");
}

void blocks() {
    std::vector<long> cell(60 * 50);
    weft::parallel_for(weft::range2d(60, 50),
                       [&](int i, int j) { cell[static_cast<std::size_t>(i * 50 + j)] = i + j; });
    const long all = weft::parallel_reduce(
        weft::range2d(60, 50), 0L, [&](int i, int j) { return cell[static_cast<std::size_t>(i * 50 + j)]; },
        std::plus<>());
    expect(all == 162'000, "loops over blocks");
}

// ---- what belongs to a worker: a task that is preempted in the middle of a change shares the element with the worker's next task

void elements() {
    weft::per_worker<std::vector<long>> lists;
    weft::parallel_for(0, 300, [&](int i) {
        dawdle();
        const weft::preemption_guard guard;
        lists.local().push_back(i);
    });
    std::size_t found = 0;
    for (const auto& list : lists) found += list.size();
    expect(found == 300, "a list for each worker");
    weft::per_worker<long> sums(0L);
    weft::parallel_for(0, 300, [&](int i) {
        const weft::preemption_guard guard;
        sums.local() += i;
    });
    expect(sums.combine(std::plus<>()) == 44'850, "a sum for each worker");
}
void regions() {
    weft::per_worker<std::vector<long>> scratch;
    weft::task_group g;
    g.run(
        [&] {
            weft::parallel_for(0, 24, [&](int i) {
                auto& own = scratch.local();
                own.assign(20, i);
                weft::isolate([&] {
                    weft::parallel_for(0, 20, [&](int j) { own[static_cast<std::size_t>(j)] += j; });
                });
                expect(sum_of(own) == 20 * i + 190, "an isolated region");
            });
        },
        {.preempt = weft::preemption::off}); // a guard would not last over the loop
    g.wait();
}

// ---- what tasks wait for

void synchronisation() {
    long counter = 0;
    std::vector<long> list;
    weft::mutex m;
    weft::parallel_for(0, 200, [&](int i) {
        const std::lock_guard guard(m);
        ++counter;
        if (i % 8 == 0) weft::this_task::yield();
        list.push_back(i);
    });
    expect(counter == 200 && list.size() == 200, "a mutex");

    weft::latch open(4);
    long before[4] = {};
    long seen = 0;
    weft::task_group g;
    for (int i = 0; i < 4; ++i)
        g.run([&, i] {
            dawdle();
            before[i] = i + 1;
            open.count_down();
        });
    g.run([&] {
        open.wait();
        seen = before[0] + before[1] + before[2] + before[3];
    });
    g.wait();
    expect(seen == 10, "a latch");

    weft::binary_semaphore ready(0);
    long handed = 0;
    g.run([&] {
        ready.acquire();
        seen = handed;
    });
    g.run([&] {
        dawdle();
        handed = 77;
        ready.release();
    });
    g.wait();
    expect(seen == 77, "a semaphore");

    weft::condition_variable filled;
    std::vector<long> box;
    long sum = 0;
    g.run([&] {
        std::unique_lock held(m);
        filled.wait(held, [&] { return box.size() >= 5; });
        sum = sum_of(box);
    });
    for (long i = 1; i <= 5; ++i)
        g.run([&, i] {
            {
                const std::lock_guard guard(m);
                box.push_back(i);
            }
            filled.notify_all();
        });
    g.wait();
    expect(sum == 15, "a condition variable");

    long phases[3] = {};
    weft::barrier all(3, [&]() noexcept { ++phases[0], ++phases[1], ++phases[2]; });
    long wrong = 0;
    std::vector<long> errors(3);
    for (std::size_t i = 0; i < 3; ++i)
        g.run([&, i] {
            for (long k = 1; k <= 5; ++k) {
                all.arrive_and_wait();
                errors[i] += phases[i] != k;
                dawdle();
            }
        });
    g.wait();
    for (const long e : errors) wrong += e;
    expect(wrong == 0, "a barrier");
}

// ---- graphs

void graphs() {
    constexpr int n = 8;
    std::vector<std::vector<long>> cell(n * n);
    weft::graph dag;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            auto& own = cell[static_cast<std::size_t>(i * n + j)];
            const auto* up = i > 0 ? &cell[static_cast<std::size_t>((i - 1) * n + j)] : nullptr;
            const auto* left = j > 0 ? &cell[static_cast<std::size_t>(i * n + j - 1)] : nullptr;
            auto body = [&own, up, left] {
                dawdle();
                own.assign(1, 1 + (up ? up->front() : 0) + (left ? left->front() : 0));
            };
            std::vector<weft::impl::data_clause> uses{weft::write(own)};
            if (up) uses.push_back(weft::read(*up));
            if (left) uses.push_back(weft::read(*left));
            dag.add(body, uses);
        }
    for (int k = 0; k < 3; ++k) dag.run();
    expect(cell.back().front() > 1000, "a graph of data");

    weft::graph exclusive;
    long total = 0;
    std::vector<long> order;
    for (int i = 0; i < 40; ++i)
        exclusive.add(
            [&, i] {
                dawdle();
                total += i;
                order.push_back(i);
            },
            weft::commutative(total));
    exclusive.run();
    expect(total == 780 && order.size() == 40, "commutative tasks");

    weft::graph stream({.once = true});
    long chain = 0;
    stream.start();
    for (int i = 0; i < 200; ++i)
        stream.add([&chain] { chain = chain * 3 % 1'000'003 + 1; }, weft::write(chain));
    stream.wait();
    expect(chain != 0, "a stream of tasks");

    // Most of them are added after the task that they follow has ended, some after it is forgotten.
    weft::graph late({.once = true});
    std::vector<std::string> rows(6);
    late.start();
    for (std::size_t i = 0; i < 400; ++i) {
        auto& row = rows[i % rows.size()];
        late.add([&row] { row.assign(40, static_cast<char>('a' + row.size() % 7)); }, weft::write(row));
        if (i % 50 < 3) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    late.wait();
    expect(rows[5].size() == 40, "tasks that are added late");

    weft::graph team;
    std::vector<long> ranks(64);
    team.add(weft::moldable([&](int rank, int width) {
                 dawdle();
                 ranks[static_cast<std::size_t>(rank)] = width;
             }),
             weft::width(2), weft::write(ranks));
    long after = 0;
    team.add([&] { after = ranks[0]; }, weft::read(ranks));
    for (int k = 0; k < 3; ++k) team.run();
    expect(after >= 1, "a moldable task");
}

// ---- what belongs to a thread

void thread_locals() {
    static thread_local long mine = 0;
    std::atomic<long> all{0};
    weft::parallel_for(0, 400, [&](int) {
        ++mine;
        dawdle();
        all.fetch_add(1, std::memory_order_relaxed);
    });
    expect(all == 400 && mine >= 0, "thread-local variables");
}

void everything() {
    for (int k = 0; k < rounds; ++k) {
        joins();
        invokes();
        failing_joins();
        groups();
        std::vector<long> out(64);
        nested_groups(5, out, 0, out.size());
        expect(sum_of(out) == 64, "nested groups");
        futures();
        loops();
        blocks();
        elements();
        regions();
        synchronisation();
        graphs();
        thread_locals();
    }
}

/// What threads do that are no workers.
void outside(weft::runtime& in) {
    long plain = 0;
    weft::task_group g;
    std::vector<long> parts(16);
    for (std::size_t i = 0; i < parts.size(); ++i) g.run([&, i] { parts[i] = static_cast<long>(i); });
    g.wait();
    expect(sum_of(parts) == 120, "a group of a thread outside");
    weft::join([&] { plain += 1; }, [] { dawdle(); });
    weft::parallel_for(std::size_t{0}, parts.size(), [&](std::size_t i) { parts[i] *= 2; });
    auto f = weft::async([&] { return sum_of(parts); });
    expect(f.get() == 240, "a future of a thread outside");
    plain += in.run([&] { return sum_of(parts); });
    expect(plain == 241, "run()");
    weft::mutex m;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 20; ++i) {
                const std::lock_guard guard(m);
                in.run([&] { ++plain; });
            }
        });
    for (auto& t : threads) t.join();
    expect(plain == 301, "a mutex of threads");
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1) rounds = std::atoi(argv[1]);
    {
        weft::runtime r;
        r.run(everything);
        outside(r);
    }
    outside(weft::runtime::default_runtime());
    std::puts("race_free: ok");
}
