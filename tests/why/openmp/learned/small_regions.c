/* Thousands of regions of a few microseconds. */
#include "../work.h"

int main(void) {
    static double data[32];
    for (int step = 0; step < 20000; ++step) {
#ifndef MENDED
#pragma omp parallel for
#endif
        for (int i = 0; i < 32; ++i) data[i] = compute(60, data[i]); // FAULT short_runs
    }
    printf("%g\n", data[7]);
}
