/* Run with OMP_CANCELLATION=true. */
#include <omp.h>
#include <stdio.h>

int main(void) {
    int reached = 0, late = 0, started = 0;
    printf("cancellation %d\n", omp_get_cancellation());
#pragma omp parallel num_threads(4)
    {
#pragma omp barrier
        if (omp_get_thread_num() == 2) {
#pragma omp cancel parallel
        }
#pragma omp barrier
#pragma omp atomic
        late += 1;
    }
    printf("after a cancelled region: %d\n", late);
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < 1000000; ++i) {
#pragma omp atomic
            reached += 1;
#pragma omp cancel for if (i == 10)
#pragma omp cancellation point for
        }
    }
    printf("a loop was left early: %d\n", reached < 1000000);
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp cancel taskgroup
            }
#pragma omp taskwait
            for (int i = 0; i < 100; ++i) {
#pragma omp task
#pragma omp atomic
                started += 1;
            }
        }
    }
    printf("tasks of a cancelled group: %d\n", started);
    return 0;
}
