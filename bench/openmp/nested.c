// Nested parallelism as programs have it: nested NAME THREADS prints the seconds of the second of two runs, and a figure of what was computed.
//
//   regions    regions of THREADS threads inside of one of THREADS threads; each computes 50 us between two barriers
//   uneven     the same, but the work of an inner region is 1 to 4 times as long
//   cholesky   a tiled Cholesky factorization by tasks, THREADS of them at a time; the kernels are OpenBLAS's, of THREADS threads each
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void dpotrf_(const char *, const int *, double *, const int *, int *);

static double spent(int steps) {
    double x = 1;
    for (int i = 0; i < steps; ++i) x = x * 0.999999 + 0.5;
    return x;
}

static double regions(int threads, int uneven) {
    double sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    for (int round = 0; round < 40; ++round) {
        const int times = uneven ? 1 + (omp_get_thread_num() + round) % 4 : 1;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
        {
            sum += spent(12000 * times);
#pragma omp barrier
            sum += spent(12000 * times);
        }
    }
    return sum;
}

enum { tiles = 8, side = 192, n = tiles * side };

static double cholesky(int threads) {
    static double a[tiles][tiles][side * side];
    for (int i = 0; i < tiles; ++i)
        for (int j = 0; j < tiles; ++j)
            for (int k = 0; k < side * side; ++k) {
                const int row = i * side + k % side, column = j * side + k / side;
                a[i][j][k] = row == column ? n : 1.0 / (1 + abs(row - column));
            }
    const int lead = side;
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int k = 0; k < tiles; ++k) {
#pragma omp task depend(inout : a[k][k])
        {
            int wrong = 0;
            dpotrf_("L", &lead, a[k][k], &lead, &wrong);
        }
        for (int i = k + 1; i < tiles; ++i)
#pragma omp task depend(in : a[k][k]) depend(inout : a[i][k])
            cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, side, side, 1, a[k][k], side, a[i][k], side);
        for (int i = k + 1; i < tiles; ++i) {
#pragma omp task depend(in : a[i][k]) depend(inout : a[i][i])
            cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, side, side, -1, a[i][k], side, 1, a[i][i], side);
            for (int j = k + 1; j < i; ++j)
#pragma omp task depend(in : a[i][k], a[j][k]) depend(inout : a[i][j])
                cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, side, side, side, -1, a[i][k], side, a[j][k], side, 1, a[i][j], side);
        }
    }
    double sum = 0;
    for (int i = 0; i < tiles; ++i)
        for (int k = 0; k < side; ++k) sum += log(a[i][i][k * side + k]);
    return sum;
}

static double run(const char *name, int threads) {
    return strcmp(name, "cholesky") ? regions(threads, !strcmp(name, "uneven")) : cholesky(threads);
}

int main(int count, char **words) {
    if (count != 3) return fprintf(stderr, "nested regions|uneven|cholesky THREADS\n"), 2;
    const int threads = atoi(words[2]);
    omp_set_max_active_levels(2);
    run(words[1], threads); // begins the threads
    const double begin = omp_get_wtime();
    const double found = run(words[1], threads);
    printf("%.6f %.6f\n", omp_get_wtime() - begin, found);
    return 0;
}
