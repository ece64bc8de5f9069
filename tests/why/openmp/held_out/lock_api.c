/* omp_set_lock around the work. */
#include "../work.h"

#include <omp.h>

int main(void) {
    omp_lock_t lock;
    omp_init_lock(&lock);
    double sum = 0;
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 2000; ++i) {
#ifdef MENDED
        const double mine = compute(100 * us, i);
        omp_set_lock(&lock);
        sum += mine;
#else
        omp_set_lock(&lock); // FAULT lock
        sum += compute(100 * us, i);
#endif
        omp_unset_lock(&lock);
    }
    printf("%g\n", sum);
}
