/* Many threads of the program call OpenMP at once; a child of fork() calls it after its parent did; locks and critical. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { callers = 6, rounds = 30 };
static omp_nest_lock_t nested;
static omp_lock_t plain;
static long guarded;

static long work(int threads) {
    long sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
#pragma omp for schedule(dynamic, 2)
        for (int i = 0; i < 100; ++i) sum += i;
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < 10; ++i) {
#pragma omp task
            {
                omp_set_lock(&plain);
                guarded += 1;
                omp_unset_lock(&plain);
            }
        }
        omp_set_nest_lock(&nested);
        omp_set_nest_lock(&nested);
        sum += 1;
        omp_unset_nest_lock(&nested);
        omp_unset_nest_lock(&nested);
    }
    return sum;
}

static void* call(void* of) {
    long* const sum = of;
    for (int i = 0; i < rounds; ++i) *sum += work(3);
    return NULL;
}

int main(void) {
    omp_init_lock(&plain);
    omp_init_nest_lock(&nested);
    pthread_t threads[callers];
    long sums[callers] = {0};
    for (int i = 0; i < callers; ++i) pthread_create(&threads[i], NULL, call, &sums[i]);
    for (int i = 0; i < callers; ++i) pthread_join(threads[i], NULL);
    long all = 0;
    for (int i = 0; i < callers; ++i) all += sums[i];
    printf("threads: %ld %ld\n", all, guarded);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(work(2) == 4952 ? 7 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    printf("child: %d, here %ld\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1, work(4));
    return 0;
}
