#include <weft/weft.hpp>

#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

int main() {
    std::vector<int> v(1000, 2);
    int x = 0, y = 0;

    // Two closures, or several, that may run at the same time.
    const auto [a, b] = weft::join([&] { return v[0] + 1; }, [&] { return v[1] + 2; });
    weft::parallel_invoke([&] { x = a; }, [&] { y = b; });

    // Any number of children, one wait, which rethrows the first exception.
    weft::task_group group;
    for (int i = 0; i < 3; ++i) group.run([&v, i] { v[i] = i; });
    group.wait();

    // Loops: elements, indices, pieces, two dimensions, reductions, scans, sorts.
    weft::parallel_for(v, [](int& e) { e *= 2; });
    weft::parallel_for(0, 1000, [&](int i) { v[i] += i; }, {.grain = 100});
    weft::parallel_for_range(v, [](auto begin, auto end) {
        while (begin != end) ++*begin++;
    });
    weft::parallel_for(weft::range2d(10, 100), [&](int row, int column) { v[row * 100 + column] += row; });
    const int sum = weft::parallel_reduce(v, 0, [](int e) { return e; }, std::plus<>());
    weft::parallel_scan(v.begin(), v.end(), v.begin(), 0, std::plus<>());
    weft::parallel_sort(v.begin(), v.end());

    // Each worker's own; ask local() again after each wait.
    weft::per_worker<int> counts;
    weft::parallel_for(0, 1000, [&](int) { ++counts.local(); });
    const int all = counts.combine(std::plus<>());

    // Tasks ordered by their data; a graph can run again.
    weft::graph dag;
    dag.add([&] { x = 1; }, weft::write(x), weft::name("produce"));
    dag.add([&] { y = x + 1; }, weft::read(x), weft::write(y), weft::name("consume"));
    dag.run();

    // Stages that items pass, at most 8 items at a time.
    int next = 0, last = 0;
    weft::pipeline stages(weft::stage::serial_in_order([&]() -> std::optional<int> {
                              return next < 100 ? std::optional(next++) : std::nullopt;
                          }),
                          weft::stage::parallel([](int i) { return i * i; }),
                          weft::stage::serial_in_order([&](int square) { last = square; }));
    stages.run(8);

    // A task now, its result later.
    weft::future<int> later = weft::async([] { return 42; });

    // Waiting suspends the task and not its worker; a weft::mutex may be held across a wait.
    weft::mutex lock;
    {
        const std::scoped_lock held(lock);
        y += later.get();
    }

    // Workers and a policy of your choice.
    weft::runtime two(weft::runtime_options{.workers = 2, .policy = "near"});
    const int product =
        two.run([&] { return weft::parallel_reduce(1, 10, 1, std::identity(), std::multiplies<>()); });

    std::printf("%d %d %d %d %d %d %d\n", a, sum, v.back(), all, y, last, product);
}
