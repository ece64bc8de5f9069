/* Teams: numbers, levels, threadprivate data, copyin, if, num_threads, nested and serial ones. */
#include <omp.h>
#include <stdio.h>

static int counter = 100;
#pragma omp threadprivate(counter)

static int outer_ok(int n) {
    int ok = 1;
#pragma omp parallel num_threads(n) reduction(&& : ok)
    {
        const int me = omp_get_thread_num();
        ok = ok && omp_get_num_threads() == n && omp_get_level() == 1 && omp_in_parallel() == (n > 1);
        ok = ok && omp_get_ancestor_thread_num(0) == 0 && omp_get_team_size(1) == n;
#pragma omp parallel num_threads(3) reduction(&& : ok)
        {
            ok = ok && omp_get_level() == 2 && omp_get_ancestor_thread_num(1) == me;
            ok = ok && omp_get_num_threads() == omp_get_team_size(2) && omp_get_thread_num() < omp_get_team_size(2);
#pragma omp barrier
            ok = ok && omp_get_ancestor_thread_num(2) == omp_get_thread_num();
        }
        ok = ok && omp_get_thread_num() == me && omp_get_level() == 1;
    }
    return ok;
}

int main(void) {
    omp_set_dynamic(0);
    for (int levels = 1; levels <= 2; ++levels) {
        omp_set_max_active_levels(levels);
        for (int n = 1; n <= 7; n += 2) printf("levels %d, threads %d: %d\n", levels, n, outer_ok(n));
    }
    /* Values of a thread stay over barriers, and over regions with as many threads. */
    counter = 7;
    int kept = 1;
#pragma omp parallel num_threads(2) copyin(counter) reduction(&& : kept)
    {
        kept = kept && counter == 7;
#pragma omp barrier
        counter = 1000 + omp_get_thread_num();
#pragma omp barrier
        kept = kept && counter == 1000 + omp_get_thread_num();
    }
#pragma omp parallel num_threads(2) reduction(&& : kept)
    kept = kept && counter == 1000 + omp_get_thread_num();
    printf("threadprivate: %d, here %d\n", kept, counter);

    int threads = 0;
#pragma omp parallel num_threads(4) if (threads)
#pragma omp atomic
    threads += omp_get_num_threads();
    printf("if: %d\n", threads);

    long sum = 0;
    for (int i = 0; i < 300; ++i) {
#pragma omp parallel num_threads(1 + i % 5) reduction(+ : sum)
        sum += omp_get_thread_num();
    }
    printf("sum %ld\n", sum);
    return 0;
}
