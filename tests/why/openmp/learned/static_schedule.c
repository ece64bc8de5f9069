/* The first half of the iterations has most of the work, and a static schedule. */
#include "../work.h"

int main(void) {
    static double data[400];
#ifdef MENDED
#pragma omp parallel for schedule(dynamic)
#else
#pragma omp parallel for schedule(static)
#endif
    for (int i = 0; i < 400; ++i)
        data[i] = compute(i < 200 ? 2 * ms : 400 * us, i); // FAULT uneven_threads
    printf("%g\n", data[7]);
}
