/* All threads add to one variable. */
#include "../work.h"

int main(void) {
    static long count;
#pragma omp parallel for
    for (int i = 0; i < 60000; ++i) {
        long mine = 0;
        for (int k = 0; k < 1000; ++k) {
#ifdef MENDED
            ++mine;
            __asm__ volatile("" : "+r"(mine));
#else
#pragma omp atomic
            ++count; // FAULT shared_data
#endif
        }
#pragma omp atomic
        count += mine;
    }
    printf("%ld\n", count);
}
