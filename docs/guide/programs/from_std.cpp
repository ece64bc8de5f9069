#include <weft/weft.hpp>

#include <cstdio>
#include <functional>
#include <mutex>
#include <queue>
#include <stdexcept>
#include <stop_token>
#include <vector>

int main() {
    std::vector<int> v(1000);

    // std::for_each(std::execution::par, ...), std::transform_reduce, std::inclusive_scan, std::sort
    weft::parallel_for(v, [&](int& x) { x = static_cast<int>(&x - v.data()) % 10; });
    const int squares = weft::parallel_reduce(v, 0, [](int x) { return x * x; }, std::plus<>());
    std::vector<int> sums(v.size());
    weft::parallel_scan(v.begin(), v.end(), sums.begin(), 0, std::plus<>());
    weft::parallel_sort(v.begin(), v.end(), std::greater<>());
    std::printf("squares: %d, sum: %d, first: %d\n", squares, sums.back(), v.front());

    // std::for_each(par) ends the program if a call throws; here the exception comes out of the loop.
    try {
        weft::parallel_for(v, [](int x) {
            if (x == 3) throw std::runtime_error("three");
        });
    } catch (const std::exception& e) { std::printf("caught: %s\n", e.what()); }

    // std::async(std::launch::async, f): a task and no thread; a million of them are no problem.
    weft::future<int> answer = weft::async([] { return 6 * 7; });
    std::printf("answer: %d\n", answer.get());

    // std::jthread, std::mutex, std::condition_variable: a consumer that sleeps and keeps no worker.
    weft::mutex lock;
    weft::condition_variable filled;
    std::queue<int> items;
    int consumed = 0;
    {
        const weft::jthread consumer([&](const std::stop_token&) {
            for (int i = 0; i < 100; ++i) {
                std::unique_lock<weft::mutex> held(lock);
                filled.wait(held, [&] { return !items.empty(); });
                consumed += items.front();
                items.pop();
            }
        });
        for (int i = 0; i < 100; ++i) {
            {
                const std::scoped_lock held(lock);
                items.push(i);
            }
            filled.notify_one();
        }
    } // the destructor joins
    std::printf("consumed: %d\n", consumed);

    // std::latch: the tasks meet, also if there are more of them than workers.
    weft::latch all(64);
    weft::task_group group;
    for (int i = 0; i < 64; ++i) group.run([&] { all.arrive_and_wait(); });
    group.wait();
    std::printf("met: %s\n", all.try_wait() ? "yes" : "no");
}
