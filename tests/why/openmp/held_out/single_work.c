/* The work of a region is in a single. */
#include "../work.h"

int main(void) {
    static double data[1000];
    for (int round = 0; round < 4; ++round) {
#ifdef MENDED
#pragma omp parallel for
        for (int i = 0; i < 1000; ++i) data[i] += compute(100 * us, i);
#else
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 1000; ++i) data[i] += compute(100 * us, i); // FAULT no_parallelism
#endif
    }
    printf("%g\n", data[7]);
}
