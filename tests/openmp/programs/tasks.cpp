// Tasks: recursion, dependences of all kinds, groups, reductions, taskloops, detach, final, priority, and the numbers of their threads.
#include <atomic>
#include <cstdio>
#include <omp.h>
#include <vector>

namespace {

long fib(int n) {
    if (n < 2) return n;
    long a = 0, b = 0;
#pragma omp task shared(a) if (n > 10)
    a = fib(n - 1);
#pragma omp task shared(b) final(n < 12)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

struct counted {
    static inline std::atomic<int> alive{0};
    int value = 0;
    explicit counted(int v) : value(v) { ++alive; }
    counted(const counted& o) : value(o.value) { ++alive; }
    counted& operator=(const counted&) = delete;
    ~counted() { --alive; }
};

void dependences() {
    int x = 0, y = 0, z = 0;
    std::vector<int> order;
    omp_depend_t object;
#pragma omp depobj(object) depend(inout : x)
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp task depend(out : x)
        x = 1;
#pragma omp task depend(in : x) depend(out : y)
        y = x + 1;
#pragma omp task depend(in : x) depend(out : z)
        z = x + 2;
#pragma omp task depend(in : y, z) depend(depobj : object)
        x = x * 100 + y * 10 + z;
#pragma omp task depend(mutexinoutset : y)
        y += 5;
#pragma omp task depend(mutexinoutset : y)
        y += 7;
#pragma omp taskwait depend(in : y)
        order.push_back(y);
#pragma omp task depend(inout : x) if (0)
        x += 1000;
        order.push_back(x);
    }
#pragma omp depobj(object) destroy
    std::printf("depend: %d %d %d, %d %d\n", x, y, z, order[0], order[1]);

    constexpr int n = 12;
    static int cell[n + 1][n + 1];
    for (int i = 0; i <= n; ++i) cell[i][0] = cell[0][i] = 1;
#pragma omp parallel num_threads(3)
#pragma omp master
    for (int i = 1; i <= n; ++i)
        for (int j = 1; j <= n; ++j) {
#pragma omp task depend(in : cell[i - 1][j], cell[i][j - 1]) depend(out : cell[i][j]) firstprivate(i, j)
            cell[i][j] = (cell[i - 1][j] + cell[i][j - 1]) % 10007;
        }
    std::printf("wavefront: %d\n", cell[n][n]);
}

void reductions() {
    long sum = 0, product = 1, all = 0;
#pragma omp parallel num_threads(4) reduction(task, + : all)
    {
#pragma omp single
        {
#pragma omp taskgroup task_reduction(+ : sum)
            for (int i = 0; i < 100; ++i) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
                sum += i;
            }
#pragma omp taskloop reduction(+ : sum) grainsize(7)
            for (int i = 0; i < 100; ++i) sum += 1;
        }
#pragma omp task in_reduction(+ : all)
        all += 3;
    }
#pragma omp parallel num_threads(2)
#pragma omp for reduction(task, * : product) schedule(dynamic)
    for (int i = 0; i < 4; ++i) {
#pragma omp task in_reduction(* : product)
        product *= 3;
    }
    std::printf("reductions: %ld %ld %ld\n", sum, all, product);
}

void others() {
    int before = 0, after = 0, seen = 0;
    omp_event_handle_t event;
#pragma omp parallel num_threads(3)
#pragma omp single
    {
#pragma omp task detach(event) depend(out : seen)
        before = 1;
#pragma omp task depend(in : seen)
        after = before + 1;
        omp_fulfill_event(event);
#pragma omp taskwait
        seen = after;
    }
    std::printf("detach: %d\n", seen);

    int wrong = 0;
    counted c(5);
#pragma omp parallel num_threads(3)
    {
#pragma omp for
        for (int i = 0; i < 60; ++i) {
#pragma omp task firstprivate(c, i) priority(i % 3) untied
            {
                const int me = omp_get_thread_num();
                if (me < 0 || me >= 3 || c.value != 5) {
#pragma omp atomic
                    wrong += 1;
                }
#pragma omp taskyield
            }
        }
    }
    std::printf("copies: %d wrong, %d alive\n", wrong, counted::alive.load());

    // At most one task of a thread runs at a time: what is indexed by the number of the thread needs no lock.
    std::vector<long> own(4 * 16, 0);
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 0; i < 20000; ++i) {
#pragma omp task
        own[static_cast<std::size_t>(omp_get_thread_num()) * 16] += 1;
    }
    std::printf("own: %ld\n", own[0] + own[16] + own[32] + own[48]);

    std::vector<int> hits(1000, 0);
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp taskloop num_tasks(13)
        for (int i = 0; i < 1000; ++i) hits[static_cast<std::size_t>(i)] += 1;
#pragma omp taskloop grainsize(strict : 100) nogroup
        for (unsigned long long i = 0; i < 1000; ++i) hits[static_cast<std::size_t>(i)] += 1;
    }
    int twos = 0;
    for (const int h : hits) twos += h == 2;
    std::printf("taskloop: %d\n", twos);
}

} // namespace

int main() {
    long f = 0;
    for (const int n : {1, 2, 5}) {
#pragma omp parallel num_threads(n)
#pragma omp single
        f = fib(18);
        std::printf("fib with %d: %ld\n", n, f);
    }
    dependences();
    reductions();
    others();
}
