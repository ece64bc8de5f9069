#include <weft/weft.hpp>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

using counts = std::map<std::size_t, long>;

int main() {
    // tbb::enumerable_thread_specific, or a `reduction` clause over a map: how often each length occurs.
    std::vector<std::string> words;
    for (int i = 0; i < 100'000; ++i) words.emplace_back(static_cast<std::size_t>(i % 7 + 1), 'x');
    weft::per_worker<counts> lengths;
    weft::parallel_for(words, [&](const std::string& word) { ++lengths.local()[word.size()]; });
    const counts all = lengths.combine([](counts a, const counts& b) {
        for (const auto& [length, count] : b) a[length] += count;
        return a;
    });
    std::printf("words of 3 letters: %ld\n", all.at(3));

    // tbb::blocked_range2d, or `collapse(2)`: blocks of at most 64 x 64.
    constexpr std::size_t rows = 512, columns = 768;
    std::vector<int> in(rows * columns, 1), out(rows * columns);
    weft::parallel_for_range(weft::range2d(rows, columns).with_grains({64, 64}), [&](const auto& block) {
        for (auto i = block.begin(0); i < block.end(0); ++i)
            for (auto j = block.begin(1); j < block.end(1); ++j) out[j * rows + i] = in[i * columns + j];
    });

    // tbb::parallel_reduce with a range and the value so far.
    const long sum = weft::parallel_reduce_range(
        out.begin(), out.end(), 0L,
        [](auto begin, auto end, long so_far) {
            for (auto x = begin; x != end; ++x) so_far += *x;
            return so_far;
        },
        std::plus<>());
    std::printf("sum of the transposed: %ld\n", sum);

    // tbb::this_task_arena::isolate: a buffer of the worker, used around a loop in a loop.
    weft::per_worker<std::vector<long>> buffers(1000);
    weft::per_worker<long> total;
    weft::parallel_for(0L, 50L, [&](long i) {
        std::vector<long>& squares = buffers.local();
        weft::isolate([&] {
            weft::parallel_for(0L, 1000L, [&](long j) { squares[static_cast<std::size_t>(j)] = i * j; });
        });
        total.local() += squares[999];
    });
    std::printf("last products: %ld\n", total.combine(std::plus<>()));
}
