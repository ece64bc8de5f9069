/* A task for each of many numbers. */
#include "../work.h"

int main(void) {
    static double data[2000000];
#pragma omp parallel
#pragma omp single
#ifdef MENDED
    for (int from = 0; from < 2000000; from += 1000)
#pragma omp task firstprivate(from)
        for (int i = from; i < from + 1000; ++i) data[i] = compute(20, i);
#else
    for (int i = 0; i < 2000000; ++i)
#pragma omp task firstprivate(i)
        data[i] = compute(20, i); // FAULT overhead
#endif
    printf("%g\n", data[7]);
}
