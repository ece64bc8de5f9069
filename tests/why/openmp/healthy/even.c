/* A loop of equal iterations. */
#include "../work.h"

int main(void) {
    static double data[3000];
    for (int round = 0; round < 3; ++round)
#pragma omp parallel for
        for (int i = 0; i < 3000; ++i) data[i] += compute(60 * us, i);
    printf("%g\n", data[7]);
}
