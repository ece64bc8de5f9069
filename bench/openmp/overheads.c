/* What a construct of OpenMP costs, as EPCC's benchmarks measure it: the time of many empty ones, in nanoseconds each. One line a
 * construct; the library is whichever the loader finds. overheads THREADS [SECONDS_EACH] */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int threads = 2;
static double each = 0.05;
static volatile int sink;
static omp_lock_t lock;

static long fib(int n) {
    long a, b;
    if (n < 2) return n;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static void parallel_region(long n) {
    for (long i = 0; i < n; ++i) {
#pragma omp parallel num_threads(threads)
        sink = 1;
    }
}
static void parallel_for(long n) {
    for (long i = 0; i < n; ++i) {
#pragma omp parallel for num_threads(threads)
        for (int j = 0; j < threads; ++j) sink = j;
    }
}
static void barrier(long n) {
#pragma omp parallel num_threads(threads)
    for (long i = 0; i < n; ++i) {
#pragma omp barrier
    }
}
static void single(long n) {
#pragma omp parallel num_threads(threads)
    for (long i = 0; i < n; ++i) {
#pragma omp single
        sink = 1;
    }
}
static void dynamic_iterations(long n) {
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (long i = 0; i < n; ++i) sink = 1;
}
static void reduction(long n) {
    int s = 0;
    for (long i = 0; i < n; ++i) {
#pragma omp parallel num_threads(threads) reduction(+ : s)
        s += 1;
    }
    sink = s;
}
static void critical(long n) {
#pragma omp parallel num_threads(threads)
    for (long i = 0; i < n; ++i) {
#pragma omp critical
        sink = 1;
    }
}
static void locks(long n) {
#pragma omp parallel num_threads(threads)
    for (long i = 0; i < n; ++i) {
        omp_set_lock(&lock);
        omp_unset_lock(&lock);
    }
}
static void ordered(long n) {
#pragma omp parallel for num_threads(threads) ordered schedule(static, 1)
    for (long i = 0; i < n; ++i) {
#pragma omp ordered
        sink = 1;
    }
}
static void tasks_of_one(long n) {
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (long i = 0; i < n; ++i) {
#pragma omp task
        sink = 1;
    }
}
static void tasks_of_all(long n) {
#pragma omp parallel num_threads(threads)
    for (long i = 0; i < n; ++i) {
#pragma omp task
        sink = 1;
    }
}
static void tasks_in_tree(long n) { /* fib(20) has 21890 of them */
    for (long i = 0; i < n; i += 21890) {
#pragma omp parallel num_threads(threads)
#pragma omp single
        sink = (int)fib(20);
    }
}
static void dependent_tasks(long n) {
    int x = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (long i = 0; i < n; ++i) {
#pragma omp task depend(inout : x)
        sink = 1;
    }
}
static void nested_regions(long n) {
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(threads)
    for (long i = 0; i < n; ++i) {
#pragma omp parallel num_threads(threads)
        sink = 1;
    }
    omp_set_max_active_levels(1);
}

static const struct {
    const char* name;
    void (*run)(long);
} constructs[] = {{"parallel", parallel_region},   {"parallel-for", parallel_for},   {"reduction", reduction},
                  {"barrier", barrier},            {"single", single},               {"dynamic-iteration", dynamic_iterations},
                  {"ordered", ordered},            {"critical", critical},           {"lock", locks},
                  {"nested-parallel", nested_regions}, {"task-of-one", tasks_of_one}, {"task-of-all", tasks_of_all},
                  {"task-in-tree", tasks_in_tree}, {"dependent-task", dependent_tasks}};

int main(int count, char** arguments) {
    if (count > 1) threads = atoi(arguments[1]);
    if (count > 2) each = atof(arguments[2]);
    omp_init_lock(&lock);
    for (unsigned c = 0; c < sizeof constructs / sizeof *constructs; ++c) {
        constructs[c].run(100);
        for (long n = 100;; n *= 2) {
            const double began = omp_get_wtime();
            constructs[c].run(n);
            const double seconds = omp_get_wtime() - began;
            if (seconds < each && n < 1L << 30) continue;
            printf("%s %.1f\n", constructs[c].name, seconds / (double)n * 1e9);
            break;
        }
        fflush(stdout);
    }
    return 0;
}
