/* Iterations that sleep: more threads than cores would hide it. */
#include "../work.h"

#include <time.h>

int main(void) {
    static double data[100];
    const struct timespec ms2 = {0, 2000000};
    for (int round = 0; round < 3; ++round)
#ifdef MENDED
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < 100; ++i) data[i] += compute(500 * us, i);
    nanosleep(&ms2, NULL);
#else
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < 100; ++i) {
            nanosleep(&ms2, NULL); // FAULT blocking
            data[i] += compute(500 * us, i);
        }
#endif
    printf("%g\n", data[7]);
}
