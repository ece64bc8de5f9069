/* Serial code between two parallel loops. */
#include "../work.h"

static double data[400];

static void between(void) {
#ifdef MENDED
#pragma omp parallel for
#endif
    for (int i = 0; i < 400; ++i) data[i] += compute(100 * us, data[i]); // FAULT serial
}

int main(void) {
    for (int round = 0; round < 5; ++round) {
#pragma omp parallel for
        for (int i = 0; i < 400; ++i) data[i] += compute(100 * us, data[i]);
        between();
    }
    printf("%g\n", data[7]);
}
