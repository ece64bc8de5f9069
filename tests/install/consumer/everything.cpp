// Uses every template of the public headers, with the types that programs use. Compiled with the warnings that careful
// programs switch on, as errors.
#include <weft/weft.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <future>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

int mistakes = 0;

void expect(bool holds, const char* what) {
    if (holds) return;
    ++mistakes;
    std::fprintf(stderr, "wrong: %s\n", what);
}

long fib(int n) {
    if (n < 2) return n;
    const auto [a, b] = weft::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

long fib(weft::context c, int n) {
    if (n < 2) return n;
    const auto f = [n](weft::context below) { return fib(below, n - 1); };
    const auto [a, b] = weft::join(c, f, [n](weft::context below) { return fib(below, n - 2); });
    return a + b;
}

void forks() {
    expect(fib(15) == 610, "join");
    int x = 0, y = 0;
    std::string text;
    const auto first = [&x] { x = 1; };
    weft::join(first, [&] { y = 2; });
    const auto [empty, length] =
        weft::join([&] { text = "abc"; }, [] { return std::string("de"); }, {{.work = 1}, {.work = 2}});
    static_cast<void>(empty);
    expect(x == 1 && y == 2 && text == "abc" && length == "de", "join with results of several kinds");
    weft::parallel_invoke([&] { x = 3; }, [&] { y = 4; }, [&] { text.clear(); });
    weft::parallel_invoke(
        {{.work = 1, .bytes = 8}, {.work = 1, .bytes = 8}, {}}, [&] { ++x; }, [&] { ++y; }, [] {});
    expect(x == 4 && y == 5 && text.empty(), "parallel_invoke");
    try {
        weft::join([]() -> int { throw std::runtime_error("x"); }, [] {});
        expect(false, "an exception of a join");
    } catch (const std::runtime_error&) {}
    try {
        static_cast<void>(weft::context::current());
    } catch (const weft::error& e) { expect(std::string_view(e.what()).size() > 0, "an error"); }
}

void groups() {
    std::atomic<int> sum{0};
    weft::task_group g;
    for (int i = 0; i < 10; ++i) g.run([&sum, i] { sum += i; });
    g.run([&sum, own = std::string("abc")] { sum += static_cast<int>(own.size()); },
          {.work = 1, .name = "last"});
    g.wait();
    expect(sum == 48, "task_group");
    weft::task_group hinted({.work = 2, .bytes = 100});
    hinted.run([] {});
    hinted.cancel();
    hinted.wait();
    weft::future<int> f = weft::async([] { return 7; });
    weft::future<void> nothing = weft::async([] {}, {.name = "nothing"});
    f.wait();
    expect(f.wait_for(1s) == std::future_status::ready && f.is_ready() && f.get() == 7, "future");
    static_cast<void>(nothing.wait_until(std::chrono::steady_clock::now() + 1ms));
    nothing.get();
}

void loops() {
    std::vector<int> numbers(10'000);
    weft::parallel_for(0, 10'000, [&](int i) { numbers[static_cast<std::size_t>(i)] = i * 7'919 % 10'000; });
    weft::parallel_for(std::size_t{0}, numbers.size(), [&](std::size_t i) { numbers[i] += 1; },
                       {.grain = 100});
    weft::parallel_for(std::uint32_t{0}, std::uint32_t{100}, [&](std::uint32_t i) { numbers[i] -= 1; });
    weft::parallel_for_range(numbers.begin() + 100, numbers.end(), [](auto from, auto to) {
        for (; from != to; ++from) --*from;
    });
    const long sum = weft::parallel_reduce(
        0, 10'000, 0L, [&](int i) { return static_cast<long>(numbers[static_cast<std::size_t>(i)]); },
        std::plus<>{});
    expect(sum == 49'995'000, "parallel_reduce");
    std::vector<long> sums(numbers.size());
    weft::parallel_scan(numbers.begin(), numbers.end(), sums.begin(), 0L, std::plus<>{}, {.grain = 64});
    expect(sums.back() == sum, "parallel_scan");

    struct record {
        double key;
        std::array<char, 56> rest;
    };
    std::vector<record> records(5'000);
    for (std::size_t i = 0; i < records.size(); ++i) records[i].key = static_cast<double>(i * 7 % 5'000);
    std::vector<std::string> words{"c", "b", "a"};
    std::vector<std::uint16_t> small{3, 1, 2};
    std::vector<double> reals{2, 1};
    weft::parallel_sort(numbers.begin(), numbers.end());
    expect(numbers[10] == 10, "parallel_sort of numbers");
    weft::parallel_sort(numbers.begin(), numbers.end(), [](int a, int b) { return a > b; });
    expect(numbers[10] == 9'989, "parallel_sort by a function");
    weft::parallel_sort(records.begin(), records.end(),
                        [](const record& a, const record& b) { return a.key < b.key; });
    expect(records[10].key > 9 && records[10].key < 11, "parallel_sort of records");
    weft::parallel_sort(words.begin(), words.end());
    weft::parallel_sort(small.begin(), small.end(), std::greater<>{});
    weft::parallel_sort(reals.begin(), reals.end());
    expect(words[0] == "a" && small[0] == 3 && reals[0] < 1.5, "parallel_sort of the others");
}

void ranges() {
    std::atomic<long> sum{0};
    weft::parallel_for(weft::range2d(10, 20), [&sum](int i, int j) { sum += i * j; });
    weft::parallel_for(
        weft::range3d(std::size_t{2}, std::size_t{3}, std::size_t{4}),
        [&sum](std::size_t i, std::size_t j, std::size_t k) { sum += static_cast<long>(i * j * k); });
    expect(sum == 8'550 + 18, "range2d, range3d");
    weft::parallel_for_range(weft::range2d(10, 20).with_grains({4, 4}),
                             [](const auto& block) { static_cast<void>(block); });
    std::vector<int> numbers(1'000, 1);
    weft::parallel_for(numbers, [](int& x) { x = 2; });
    weft::parallel_for(weft::range2d(std::uint32_t{3}, std::uint32_t{3}),
                       [](std::uint32_t, std::uint32_t) {});
    const long total = weft::parallel_reduce_range(
        std::size_t{0}, numbers.size(), 0L,
        [&numbers](std::size_t from, std::size_t to, long part) {
            for (; from < to; ++from) part += numbers[from];
            return part;
        },
        std::plus<>{});
    expect(total == 2'000, "parallel_reduce_range");

    weft::per_worker<long> counts(0L);
    weft::per_worker<std::vector<int>> lists([] { return std::vector<int>(1); });
    weft::parallel_for(0, 1'000, [&](int i) {
        counts.local() += i;
        bool exists = false;
        lists.local(exists).push_back(i);
    });
    std::size_t elements = 0;
    lists.combine_each([&elements](const std::vector<int>& list) { elements += list.size() - 1; });
    expect(counts.combine(std::plus<>{}) == 499'500 && elements == 1'000 && !lists.empty(), "per_worker");
    lists.clear();
    int inside = 0;
    weft::isolate([&inside] { inside = 1; });
    expect(inside == 1 && weft::isolate([] { return 7; }) == 7, "isolate");
}

void graphs() {
    int a = 0;
    std::array<double, 4> values{};
    weft::datum order;
    weft::graph g({.record_accesses = true});
    const weft::graph_task one = g.add([&a] { a = 1; }, weft::write(a), weft::name("one"), weft::priority(1));
    g.add([&a, &values] { values[0] = a; }, weft::read(a), weft::write(std::span(values)),
          weft::hints{.work = 1});
    g.add([] {}, weft::readwrite(order), weft::concurrent(values), weft::after(one));
    g.add([] {}, weft::commutative(order), weft::cores(1, weft::within::cache).relaxed());
    g.add(weft::moldable([&](int rank, int width) { a += rank < width ? 0 : 1; }), weft::width(2),
          weft::readwrite(a));
    const std::vector<weft::graph_task> all{one};
    g.add([] {}, all);
    g.run();
    g.start();
    g.wait();
    expect(a == 1 && g.size() == 6 && !g.dot().empty() && !g.dump().empty(), "graph");
}

void waits() {
    weft::mutex m;
    weft::condition_variable changed;
    weft::latch both(2);
    weft::counting_semaphore<4> two(2);
    weft::binary_semaphore one(0);
    bool ready = false;
    weft::task_group g;
    g.run([&] {
        const std::scoped_lock lock(m);
        ready = true;
        changed.notify_all();
        changed.notify_one();
        one.release();
        both.count_down();
    });
    {
        std::unique_lock lock(m);
        changed.wait(lock, [&] { return ready; });
        static_cast<void>(changed.wait_for(lock, 1ms));
        expect(changed.wait_for(lock, 1s, [&] { return ready; }), "condition_variable");
        expect(changed.wait_until(lock, std::chrono::steady_clock::now() + 1s, [&] { return ready; }),
               "wait_until");
    }
    one.acquire();
    expect(!one.try_acquire() && two.try_acquire_for(1s) &&
               two.try_acquire_until(std::chrono::steady_clock::now() + 1s),
           "semaphore");
    both.arrive_and_wait();
    g.wait();
    weft::barrier alone(1);
    alone.arrive_and_wait();
    alone.arrive_and_drop();
    weft::barrier counted(1, []() noexcept {});
    counted.arrive_and_wait();
    weft::this_task::yield();
    weft::this_task::sleep_for(1us);
    weft::this_task::sleep_until(std::chrono::steady_clock::now());
    static_cast<void>(weft::this_task::is_cancelled());
    static_cast<void>(weft::this_task::worker());
}

void declarations() {
    const std::array<int, 4> data{};
    weft::touch(data.data(), sizeof data, weft::access::readwrite);
    weft::cost(10, weft::work::memory);
    weft::bind_to_node(data.data(), sizeof data, 0);
    weft::interleave(data.data(), sizeof data);
    weft::initialisation();
    weft::iteration(1);
}

} // namespace

int main() {
    weft::runtime r({.workers = 2, .policy = "steal"});
    r.run([] {
        forks();
        groups();
        loops();
        ranges();
        graphs();
        waits();
        declarations();
    });
    expect(r.run([](weft::context c) { return fib(c, 15); }) == 610, "contexts");
    expect(r.workers() == 2 && r.policy() == "steal" && r.stats().workers == 2 && !r.report().empty(),
           "runtime");
    return mistakes == 0 ? 0 : 1;
}
