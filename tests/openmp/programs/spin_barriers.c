/* Nested teams that wait for each other in loops which call nothing: more threads than workers. It ends if threads are preempted. */
#include <omp.h>
#include <stdio.h>

enum { outer = 3, inner = 3, phases = 3 };

int main(void) {
    omp_set_max_active_levels(2);
    long sum = 0;
#pragma omp parallel num_threads(outer) reduction(+ : sum)
    {
        volatile int arrived[phases] = {0};
#pragma omp parallel num_threads(inner) shared(arrived) reduction(+ : sum)
        for (int p = 0; p < phases; ++p) {
            __atomic_fetch_add(&arrived[p], 1, __ATOMIC_ACQ_REL);
            while (__atomic_load_n(&arrived[p], __ATOMIC_ACQUIRE) < inner) {}
            sum += omp_get_thread_num() + p;
        }
    }
    printf("sum %ld\n", sum);
    return 0;
}
