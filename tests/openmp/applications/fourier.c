// FFTW's threads: transforms forth and back. Prints sums of the results, which do not depend on the order of the threads.
#include <fftw3.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** words) {
    const int n = 512, rounds = 6;
    fftw_init_threads();
    fftw_plan_with_nthreads(count > 1 ? atoi(words[1]) : 2);
    fftw_complex* const a = fftw_alloc_complex((size_t)n * n);
    const fftw_plan forth = fftw_plan_dft_2d(n, n, a, a, FFTW_FORWARD, FFTW_ESTIMATE);
    const fftw_plan back = fftw_plan_dft_2d(n, n, a, a, FFTW_BACKWARD, FFTW_ESTIMATE);
    for (int i = 0; i < n * n; ++i) {
        a[i][0] = i % 1021;
        a[i][1] = i % 509;
    }
    for (int k = 0; k < rounds; ++k) {
        fftw_execute(forth);
        double real = 0, imaginary = 0;
        for (int i = 0; i < n * n; ++i) {
            real += a[i][0];
            imaginary += a[i][1];
        }
        printf("%.17g %.17g\n", real, imaginary);
        fftw_execute(back);
        for (int i = 0; i < n * n; ++i) {
            a[i][0] /= (double)n * n;
            a[i][1] /= (double)n * n;
        }
    }
    fftw_destroy_plan(forth);
    fftw_destroy_plan(back);
    fftw_free(a);
    return 0;
}
