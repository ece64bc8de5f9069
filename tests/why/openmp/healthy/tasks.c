/* Tasks of 200 microseconds. */
#include "../work.h"

int main(void) {
    static double data[2000];
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 2000; ++i)
#pragma omp task firstprivate(i)
        data[i] = compute(200 * us, i);
    printf("%g\n", data[7]);
}
