/* Thousands of regions of a few microseconds. */
#include "../work.h"

int main(void) {
    static double data[32];
#ifdef MENDED
#pragma omp parallel
    for (int step = 0; step < 100000; ++step)
#pragma omp for
        for (int i = 0; i < 32; ++i) data[i] = compute(60, data[i]);
#else
    for (int step = 0; step < 100000; ++step)
#pragma omp parallel for
        for (int i = 0; i < 32; ++i) data[i] = compute(60, data[i]); // FAULT short_runs
#endif
    printf("%g\n", data[7]);
}
