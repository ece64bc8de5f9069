// One worker does `n` of one thing: forks, children of a group, iterations of a loop, tasks of a graph. bench/instructions.py
// counts its instructions.
#include <weft/weft.hpp>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

/// `forks` forks in a tree that is as even as it can be.
[[gnu::noinline]] long tree(long forks) {
    if (forks == 0) return 1;
    const long left = (forks - 1) / 2;
    auto [a, b] = weft::join([=] { return tree(left); }, [=] { return tree(forks - 1 - left); });
    return a + b;
}

long children(long n) {
    weft::task_group g;
    long sum = 0;
    for (long i = 0; i < n; ++i) g.run([&sum, i] { sum += i; }); // one worker: one after the other
    g.wait();
    return sum;
}

long loop(long n) {
    long sum = 0;
    weft::parallel_for(0L, n, [&sum](long i) { sum += i; });
    return sum;
}

long tasks(long n) {
    weft::graph g;
    weft::graph_task before = g.add([] {});
    long sum = 0;
    for (long i = 1; i < n; ++i) before = g.add([&sum, i] { sum += i; }, weft::after(before));
    g.run();
    return sum;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("usage: program fork|spawn|loop|graph POLICY N\n", stderr);
        return 2;
    }
    const std::string_view what = argv[1];
    const long n = std::atol(argv[3]);
    weft::runtime rt({.workers = 1, .policy = argv[2], .spin = std::chrono::microseconds(0)});
    const long result = rt.run([&] {
        return what == "fork" ? tree(n) : what == "spawn" ? children(n) : what == "loop" ? loop(n) : tasks(n);
    });
    std::printf("%ld\n", result);
}
