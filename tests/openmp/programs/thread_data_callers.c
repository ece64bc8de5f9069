// threadprivate data in regions that many threads begin, and the end of a process inside of a region.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int mine;
#pragma omp threadprivate(mine)

static int wrong_in(int threads) {
    int wrong = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
    {
        mine = omp_get_thread_num() * 3;
#pragma omp barrier
        wrong += mine != omp_get_thread_num() * 3;
    }
    return wrong;
}

static void *many(void *unused) {
    long wrong = 0;
    for (int i = 0; i < 100; ++i) wrong += wrong_in(2 + i % 5);
    return (void *)wrong;
}

int main(void) {
    printf("first: %d\n", wrong_in(6));
    long wrong = 0;
    for (int round = 0; round < 2; ++round) {
        pthread_t threads[6];
        for (int i = 0; i < 6; ++i) pthread_create(&threads[i], NULL, many, NULL);
        for (int i = 0; i < 6; ++i) {
            void *found = NULL;
            pthread_join(threads[i], &found);
            wrong += (long)found;
        }
    }
    printf("threads: %ld\n", wrong);
    fflush(stdout);
#pragma omp parallel num_threads(6)
    if (omp_get_thread_num() == 3) exit(0);
    return 1;
}
