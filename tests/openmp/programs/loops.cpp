// Work sharing: every schedule, both widths, ordered, doacross, sections, single, copyprivate, scan, lastprivate.
#include <climits>
#include <cstdio>
#include <omp.h>
#include <vector>

namespace {

int threads = 4;

template <class Body>
void report(const char* name, long n, Body body) {
    std::vector<int> hits(static_cast<std::size_t>(n), 0);
    body(hits);
    long wrong = 0;
    for (const int h : hits) wrong += h != 1;
    std::printf("%s: %ld iterations, %ld wrong\n", name, n, wrong);
}

void schedules(long n) {
#define WEFT_LOOP(name, clause)                                                                              \
    report(name, n, [&](std::vector<int>& hits) {                                                            \
        _Pragma("omp parallel num_threads(threads)") {                                                       \
            _Pragma(clause) for (long i = 0; i < n; ++i) {                                                   \
                _Pragma("omp atomic") hits[static_cast<std::size_t>(i)] += 1;                                \
            }                                                                                                \
            _Pragma(clause) for (unsigned long long i = static_cast<unsigned long long>(n); i > 0; --i) {    \
                _Pragma("omp atomic") hits[static_cast<std::size_t>(i - 1)] += 0;                            \
            }                                                                                                \
        }                                                                                                    \
    })
    WEFT_LOOP("static", "omp for schedule(static)");
    WEFT_LOOP("static,3", "omp for schedule(static, 3) nowait");
    WEFT_LOOP("dynamic", "omp for schedule(dynamic) nowait");
    WEFT_LOOP("monotonic:dynamic,7", "omp for schedule(monotonic: dynamic, 7)");
    WEFT_LOOP("guided", "omp for schedule(guided, 2) nowait");
    WEFT_LOOP("runtime", "omp for schedule(runtime)");
    WEFT_LOOP("auto", "omp for schedule(auto) nowait");
    WEFT_LOOP("ordered", "omp for schedule(dynamic, 2) ordered");
    WEFT_LOOP("combined", "omp for schedule(guided)");
}

void edges() {
    unsigned long long n = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1000) reduction(+ : n)
    for (unsigned long long i = ULLONG_MAX - 10500; i < ULLONG_MAX - 1; i += 3) ++n;
    std::printf("near the largest number: %llu\n", n);
    long m = 0;
#pragma omp parallel for num_threads(threads) schedule(guided, 5) reduction(+ : m)
    for (long i = LONG_MAX - 1; i > LONG_MAX - 1000; i -= 7) ++m;
#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(+ : m)
    for (long i = 5; i < 5; ++i) ++m;
    std::printf("down from the largest, and none: %ld\n", m);
}

void order() {
    std::vector<int> seen;
#pragma omp parallel for num_threads(threads) ordered schedule(dynamic, 3)
    for (int i = 0; i < 200; ++i) {
#pragma omp ordered
        if (i % 2) seen.push_back(i);
    }
    bool sorted = true;
    for (std::size_t i = 0; i < seen.size(); ++i) sorted = sorted && seen[i] == static_cast<int>(2 * i + 1);
    std::printf("ordered: %zu, %d\n", seen.size(), sorted);

    constexpr int rows = 40, columns = 30;
    static int grid[rows + 1][columns + 1];
    for (int i = 0; i <= rows; ++i) grid[i][0] = 1;
    for (int j = 0; j <= columns; ++j) grid[0][j] = 1;
#pragma omp parallel for num_threads(threads) ordered(2) schedule(static, 1)
    for (int i = 1; i <= rows; ++i)
        for (int j = 1; j <= columns; ++j) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            grid[i][j] = (grid[i - 1][j] + grid[i][j - 1]) % 1'000'003;
#pragma omp ordered depend(source)
        }
    std::printf("doacross: %d\n", grid[rows][columns]);
}

void others() {
    int runs = 0, copied = 0, last = -1, scanned = 0;
    std::vector<int> sums(64);
#pragma omp parallel num_threads(threads)
    {
#pragma omp sections
        {
#pragma omp section
#pragma omp atomic
            runs += 1;
#pragma omp section
#pragma omp atomic
            runs += 10;
#pragma omp section
#pragma omp atomic
            runs += 100;
        }
        int mine = omp_get_thread_num();
#pragma omp single copyprivate(mine)
        mine = 42;
#pragma omp atomic
        copied += mine;
#pragma omp for lastprivate(last) schedule(dynamic, 4)
        for (int i = 0; i < 100; ++i) last = i;
#pragma omp masked
        runs += 1000;
#pragma omp barrier
#pragma omp critical(name)
        runs += 10000;
    }
#pragma omp parallel for num_threads(threads) reduction(inscan, + : scanned)
    for (int i = 0; i < 64; ++i) {
        scanned += i;
#pragma omp scan inclusive(scanned)
        sums[static_cast<std::size_t>(i)] = scanned;
    }
    std::printf("sections, masked, critical: %d; copyprivate: %d; last %d; scan %d %d\n", runs, copied, last,
                sums[10], sums[63]);
}

} // namespace

int main() {
    for (threads = 1; threads <= 6; threads += 2) {
        schedules(1);
        schedules(333);
        edges();
        order();
        others();
    }
}
