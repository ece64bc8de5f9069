/* A critical section for most of each iteration. */
#include "../work.h"

int main(void) {
    double sum = 0;
    for (int round = 0; round < 5; ++round)
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < 400; ++i) {
#ifdef MENDED
            const double mine = compute(100 * us, i);
#pragma omp critical
            sum += mine;
#else
#pragma omp critical // FAULT lock
            sum += compute(100 * us, i);
#endif
        }
    printf("%g\n", sum);
}
