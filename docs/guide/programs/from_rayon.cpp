#include <weft/weft.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

int main() {
    std::vector<int> v(1000);

    // v.par_iter_mut().enumerate().for_each(|(i, x)| ...)
    weft::parallel_for(std::size_t{0}, v.size(),
                       [&](std::size_t i) { v[i] = static_cast<int>(i * 7 % 1000); });

    // v.par_iter().filter(|x| **x % 3 == 0).map(|x| *x as i64).sum()
    const long sum =
        weft::parallel_reduce(v, 0L, [](int x) { return x % 3 == 0 ? long{x} : 0L; }, std::plus<>());
    std::printf("sum: %ld\n", sum);

    // v.par_iter().filter(...).copied().collect::<Vec<_>>(): in the order of v.
    const auto large = weft::parallel_reduce_range(
        v.begin(), v.end(), std::vector<int>(),
        [](auto begin, auto end, std::vector<int> found) {
            std::copy_if(begin, end, std::back_inserter(found), [](int x) { return x >= 997; });
            return found;
        },
        [](std::vector<int> a, const std::vector<int>& b) {
            a.insert(a.end(), b.begin(), b.end());
            return a;
        });
    std::printf("large:");
    for (const int x : large) std::printf(" %d", x);

    // v.par_chunks_mut(100): pieces of at most 100 elements.
    weft::parallel_for_range(v, [](auto begin, auto end) { std::reverse(begin, end); }, {.grain = 100});

    // v.par_sort_unstable()
    weft::parallel_sort(v.begin(), v.end());
    std::printf("\nsorted: %d ... %d\n", v.front(), v.back());

    // rayon::scope(|s| { s.spawn(...); s.spawn(...) }): children may borrow, and may add children.
    std::vector<std::string> names(3);
    weft::task_group scope;
    for (std::size_t i = 0; i < names.size(); ++i)
        scope.run([&, i] { names[i] = "child " + std::to_string(i); });
    scope.wait();
    std::printf("%s, %s, %s\n", names[0].c_str(), names[1].c_str(), names[2].c_str());

    // ThreadPoolBuilder::new().num_threads(2).build()?.install(|| ...)
    weft::runtime pool(weft::runtime_options{.workers = 2});
    int workers = 0;
    pool.run([&] { workers = pool.workers(); });
    std::printf("workers: %d\n", workers);
}
