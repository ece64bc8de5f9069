// threadprivate data in more threads than there may be workers.
#include <omp.h>
#include <stdio.h>

static int mine = 7;
#pragma omp threadprivate(mine)
static __thread int calls;
static int told;
#pragma omp threadprivate(told)

static int of_thread(void) { return ++calls, mine; }

int main(void) {
    int wrong = 0, sum = 0;
    mine = 5;
    // Each thread has its own, over barriers and waits.
#pragma omp parallel num_threads(9) reduction(+ : wrong)
    {
        const int me = omp_get_thread_num();
        wrong += mine != (me == 0 ? 5 : 7);
        mine = 100 + me;
#pragma omp barrier
        wrong += of_thread() != 100 + me;
#pragma omp critical
        mine += 1;
#pragma omp barrier
        wrong += of_thread() != 101 + me || calls != 2;
    }
    printf("in a region: %d\n", wrong);
    // and in the next region
#pragma omp parallel num_threads(9) reduction(+ : wrong, sum)
    {
        wrong += mine != 101 + omp_get_thread_num();
        sum += calls;
    }
    printf("in the next: %d, %d calls\n", wrong, sum);

    mine = 40;
#pragma omp parallel num_threads(6) copyin(mine) reduction(+ : wrong)
    {
        wrong += mine != 40;
        mine += omp_get_thread_num();
#pragma omp barrier
        wrong += mine != 40 + omp_get_thread_num();
#pragma omp single copyprivate(told)
        told = 11;
        wrong += told != 11;
    }
    printf("copied: %d\n", wrong);

    // Each thread of a team inside of a region has its own, too.
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3) reduction(+ : wrong)
    {
        const int outer = omp_get_thread_num();
        mine = 1000 * outer;
#pragma omp parallel num_threads(3) reduction(+ : wrong)
        {
            const int me = omp_get_thread_num();
            if (me > 0) mine = 1000 * outer + me;
#pragma omp barrier
            wrong += mine != 1000 * outer + me;
#pragma omp barrier
            wrong += mine != 1000 * outer + me;
        }
        wrong += mine != 1000 * outer;
    }
    printf("nested: %d\n", wrong);

    // Tasks run while the threads wait.
    int done = 0;
#pragma omp parallel num_threads(5) reduction(+ : wrong)
    {
        mine = omp_get_thread_num();
#pragma omp for
        for (int i = 0; i < 200; ++i) {
#pragma omp task shared(done)
#pragma omp atomic
            ++done;
        }
#pragma omp taskwait
        wrong += mine != omp_get_thread_num();
    }
    printf("beside tasks: %d, %d\n", wrong, done);
    return 0;
}
