// How much of its computing a core hides while it fetches lines: the figure `overlap` of a machine file.
//
//     g++ -O2 -fno-tree-vectorize machines/overlap.cpp -o /tmp/overlap && /tmp/overlap
//
// A loop reads an array and computes with each number. The time of the computing alone is that of the same loop over a
// few numbers that stay in the first-level cache; the time of the data alone is that of a loop that adds one number of each
// cache line. Of the smaller of the two, the part that the loop over the large array does not take is hidden. Each time is
// the best of many.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <vector>

namespace {

template <int Operations>
[[gnu::noinline]] double compute(const double* a, std::size_t n, std::size_t times) {
    double sum[4] = {};
    for (std::size_t t = 0; t < times; ++t)
        for (std::size_t i = 0; i + 4 <= n; i += 4)
            for (std::size_t k = 0; k < 4; ++k) {
                double x = a[i + k];
                for (int o = 0; o < Operations; ++o) x = x * 0.999 + 0.001;
                sum[k] += x;
            }
    return sum[0] + sum[1] + sum[2] + sum[3];
}

[[gnu::noinline]] double read_lines(const double* a, std::size_t n) {
    double sum[4] = {};
    for (std::size_t i = 0; i + 32 <= n; i += 32)
        for (std::size_t k = 0; k < 4; ++k) sum[k] += a[i + 8 * k];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

template <class Loop>
double nanoseconds_a_number(std::size_t n, const Loop& loop) {
    double best = std::numeric_limits<double>::infinity();
    volatile double kept = 0;
    for (int round = 0; round < 60; ++round) {
        const auto began = std::chrono::steady_clock::now();
        kept = kept + loop();
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
        best = std::min(best, took.count() / static_cast<double>(n));
    }
    return best;
}

template <int Operations>
void measure(const std::vector<double>& large) {
    constexpr std::size_t few = 2048; // 16 KiB
    const std::size_t n = large.size();
    const double computing = nanoseconds_a_number(n, [&] { return compute<Operations>(large.data(), few, n / few); });
    const double data = nanoseconds_a_number(n, [&] { return read_lines(large.data(), n); });
    const double both = nanoseconds_a_number(n, [&] { return compute<Operations>(large.data(), n, 1); });
    std::printf("%6.1f MB %11d %10.3f %10.3f %10.3f %10.2f\n", static_cast<double>(n) * 8e-6, Operations, computing, data, both,
                (computing + data - both) / std::min(computing, data));
}

} // namespace

int main() {
    std::printf("    data  operations  computing       data       both     hidden   (ns a number)\n");
    for (const std::size_t bytes : {std::size_t{8} << 20, std::size_t{256} << 20}) {
        const std::vector<double> large(bytes / sizeof(double), 1.0);
        measure<1>(large);
        measure<2>(large);
        measure<4>(large);
        measure<8>(large);
    }
}
