/* The data are made one after another before the first region. */
#include "../work.h"

static double cells[2000];

int main(void) {
#ifdef MENDED
#pragma omp parallel for
#endif
    for (int i = 0; i < 2000; ++i) cells[i] = compute(100 * us, i); // FAULT serial
    for (int step = 0; step < 3; ++step)
#pragma omp parallel for
        for (int i = 0; i < 2000; ++i) cells[i] += compute(30 * us, i);
    printf("%g\n", cells[7]);
}
