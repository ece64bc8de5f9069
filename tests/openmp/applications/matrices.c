// OpenBLAS with OpenMP: products and Cholesky factors of matrices, one after the other (one), or each in a task of a
// parallel region, where the library begins regions of its own (many).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);
void dpotrf_(const char*, const int*, double*, const int*, int*);

enum { n = 384, matrices = 8 };
static double results[matrices];

static void one_matrix(int k) {
    double* const a = malloc(sizeof(double) * n * n);
    double* const b = malloc(sizeof(double) * n * n);
    const double one = 1, none = 0;
    const int size = n;
    int info = 0;
    for (int i = 0; i < n * n; ++i) a[i] = (double)((i * 7 + k) % 31) / 31 - 0.5;
    dgemm_("T", "N", &size, &size, &size, &one, a, &size, a, &size, &none, b, &size);
    for (int i = 0; i < n; ++i) b[i * n + i] += n;
    dpotrf_("L", &size, b, &size, &info);
    double sum = info;
    for (int i = 0; i < n * n; ++i) sum += b[i] * (i % 3);
    results[k] = sum;
    free(a);
    free(b);
}

int main(int count, char** words) {
    const int nested = count > 1 && strcmp(words[1], "many") == 0;
    if (nested) {
#pragma omp parallel num_threads(4)
#pragma omp single
        for (int k = 0; k < matrices; ++k)
#pragma omp task firstprivate(k)
            one_matrix(k);
    } else {
        for (int k = 0; k < matrices; ++k) one_matrix(k);
    }
    for (int k = 0; k < matrices; ++k) printf("%.10g\n", results[k]);
    return 0;
}
