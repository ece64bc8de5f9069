// Programs of tasks as the Barcelona OpenMP Tasks Suite has them (Duran et al., ICPP 2009), each with its result.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- queens: a task for each place in the first rows

static int safe(const char* rows, int row, char column) {
    for (int i = 0; i < row; ++i)
        if (rows[i] == column || abs(rows[i] - column) == row - i) return 0;
    return 1;
}

static long queens(const char* rows, int row, int size) {
    if (row == size) return 1;
    long found[16] = {0};
    for (int c = 0; c < size; ++c) {
#pragma omp task shared(found) firstprivate(c) if (row < 4)
        {
            char mine[16];
            memcpy(mine, rows, (size_t)row);
            mine[row] = (char)c;
            if (safe(mine, row, (char)c)) found[c] = queens(mine, row + 1, size);
        }
    }
#pragma omp taskwait
    long sum = 0;
    for (int c = 0; c < size; ++c) sum += found[c];
    return sum;
}

// ---- sort: halves in tasks, merged

static void sort_range(uint32_t* a, uint32_t* to, int n) {
    if (n < 64) {
        for (int i = 1; i < n; ++i)
            for (int k = i; k > 0 && a[k - 1] > a[k]; --k) {
                const uint32_t t = a[k];
                a[k] = a[k - 1];
                a[k - 1] = t;
            }
        return;
    }
    const int half = n / 2;
#pragma omp task if (n > 2048)
    sort_range(a, to, half);
#pragma omp task if (n > 2048)
    sort_range(a + half, to + half, n - half);
#pragma omp taskwait
    int i = 0, k = half;
    for (int at = 0; at < n; ++at) to[at] = k == n || (i < half && a[i] <= a[k]) ? a[i++] : a[k++];
    memcpy(a, to, sizeof *a * (size_t)n);
}

// ---- Strassen's product of square matrices, seven tasks a level

static void add(double* to, const double* a, const double* b, double sign, int n, int width_a, int width_b) {
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k) to[i * n + k] = a[i * width_a + k] + sign * b[i * width_b + k];
}

static void product(double* c, int width_c, const double* a, int width_a, const double* b, int width_b, int n) {
    if (n <= 64) {
        for (int i = 0; i < n; ++i)
            for (int k = 0; k < n; ++k) {
                double sum = 0;
                for (int j = 0; j < n; ++j) sum += a[i * width_a + j] * b[j * width_b + k];
                c[i * width_c + k] = sum;
            }
        return;
    }
    const int h = n / 2;
    const double *a11 = a, *a12 = a + h, *a21 = a + h * width_a, *a22 = a21 + h;
    const double *b11 = b, *b12 = b + h, *b21 = b + h * width_b, *b22 = b21 + h;
    const size_t one = (size_t)h * (size_t)h;
    double* const m = malloc(sizeof(double) * one * 7);
    // clang-format off
    const struct { const double *a, *and_a; double sign_a; const double *b, *and_b; double sign_b; } factors[7] = {
        {a11, a22, 1, b11, b22, 1}, {a21, a22, 1, b11, 0, 0}, {a11, 0, 0, b12, b22, -1}, {a22, 0, 0, b21, b11, -1},
        {a11, a12, 1, b22, 0, 0}, {a21, a11, -1, b11, b12, 1}, {a12, a22, -1, b21, b22, 1},
    };
    // clang-format on
    for (int i = 0; i < 7; ++i) {
#pragma omp task firstprivate(i) shared(factors)
        {
            double* const left = malloc(sizeof(double) * one * 2);
            double* const right = left + one;
            add(left, factors[i].a, factors[i].and_a ? factors[i].and_a : factors[i].a, factors[i].sign_a, h, width_a, width_a);
            add(right, factors[i].b, factors[i].and_b ? factors[i].and_b : factors[i].b, factors[i].sign_b, h, width_b, width_b);
            product(m + (size_t)i * one, h, left, h, right, h, h);
            free(left);
        }
    }
#pragma omp taskwait
    const double *m1 = m, *m2 = m + one, *m3 = m + 2 * one, *m4 = m + 3 * one, *m5 = m + 4 * one, *m6 = m + 5 * one,
                 *m7 = m + 6 * one;
    for (int i = 0; i < h; ++i)
        for (int k = 0; k < h; ++k) {
            const int at = i * h + k;
            c[i * width_c + k] = m1[at] + m4[at] - m5[at] + m7[at];
            c[i * width_c + k + h] = m3[at] + m5[at];
            c[(i + h) * width_c + k] = m2[at] + m4[at];
            c[(i + h) * width_c + k + h] = m1[at] - m2[at] + m3[at] + m6[at];
        }
    free(m);
}

// ---- LU factorization of a matrix of blocks, some of them empty: tasks with depend

enum { blocks = 16, side = 24 };
typedef double block[side * side];
static block* lu[blocks][blocks];

static void factor(double* d) {
    for (int k = 0; k < side; ++k)
        for (int i = k + 1; i < side; ++i) {
            d[i * side + k] /= d[k * side + k];
            for (int j = k + 1; j < side; ++j) d[i * side + j] -= d[i * side + k] * d[k * side + j];
        }
}
static void forward(const double* d, double* c) {
    for (int j = 0; j < side; ++j)
        for (int k = 0; k < side; ++k)
            for (int i = k + 1; i < side; ++i) c[i * side + j] -= d[i * side + k] * c[k * side + j];
}
static void divide(const double* d, double* r) {
    for (int i = 0; i < side; ++i)
        for (int k = 0; k < side; ++k) {
            r[i * side + k] /= d[k * side + k];
            for (int j = k + 1; j < side; ++j) r[i * side + j] -= r[i * side + k] * d[k * side + j];
        }
}
static void modify(const double* r, const double* c, double* inner) {
    for (int i = 0; i < side; ++i)
        for (int j = 0; j < side; ++j)
            for (int k = 0; k < side; ++k) inner[i * side + j] -= r[i * side + k] * c[k * side + j];
}

static double sparse_lu(void) {
    for (int i = 0; i < blocks; ++i)
        for (int j = 0; j < blocks; ++j) {
            if (i != j && (i * j) % 3 == 1) continue;
            lu[i][j] = calloc(1, sizeof(block));
            for (int k = 0; k < side * side; ++k) (*lu[i][j])[k] = ((i * 5 + j * 3 + k * 7) % 17) / 17.0;
            if (i == j)
                for (int k = 0; k < side; ++k) (*lu[i][j])[k * side + k] += blocks * side;
        }
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < blocks; ++k) {
        double* const d = *lu[k][k];
#pragma omp task depend(inout : d[0])
        factor(d);
        for (int j = k + 1; j < blocks; ++j)
            if (lu[k][j]) {
                double* const c = *lu[k][j];
#pragma omp task depend(in : d[0]) depend(inout : c[0])
                forward(d, c);
            }
        for (int i = k + 1; i < blocks; ++i)
            if (lu[i][k]) {
                double* const r = *lu[i][k];
#pragma omp task depend(in : d[0]) depend(inout : r[0])
                divide(d, r);
            }
        for (int i = k + 1; i < blocks; ++i)
            for (int j = k + 1; j < blocks; ++j)
                if (lu[i][k] && lu[k][j]) {
                    if (!lu[i][j]) lu[i][j] = calloc(1, sizeof(block));
                    double *const r = *lu[i][k], *const c = *lu[k][j], *const inner = *lu[i][j];
#pragma omp task depend(in : r[0], c[0]) depend(inout : inner[0])
                    modify(r, c, inner);
                }
    }
    double sum = 0;
    for (int i = 0; i < blocks; ++i)
        for (int j = 0; j < blocks; ++j)
            for (int k = 0; lu[i][j] && k < side * side; ++k) sum += (*lu[i][j])[k] * ((i + j + k) % 5);
    return sum;
}

// ---- an unbalanced tree, whose shape is drawn at each node

static uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9U;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}
static long nodes(uint64_t drawn, int depth) {
    const int children = depth > 60 ? 0 : depth < 6 ? 4 : mix(drawn + 7) % 1000 < 240 ? 4 : 0;
    long found[4] = {0};
    for (int i = 0; i < children; ++i)
#pragma omp task shared(found) firstprivate(i)
        found[i] = nodes(mix(drawn * 4 + (uint64_t)i + 1), depth + 1);
#pragma omp taskwait
    return 1 + found[0] + found[1] + found[2] + found[3];
}

int main(void) {
    long count = 0;
#pragma omp parallel
#pragma omp single
    count = queens("", 0, 10);
    printf("queens %ld\n", count);

    const int n = 200000;
    uint32_t* const a = malloc(sizeof *a * (size_t)n * 2);
    for (int i = 0; i < n; ++i) a[i] = (uint32_t)mix((uint64_t)i);
#pragma omp parallel
#pragma omp single
    sort_range(a, a + n, n);
    uint64_t sum = 0;
    for (int i = 0; i < n; ++i) sum = mix(sum + a[i]);
    printf("sort %llx\n", (unsigned long long)sum);
    free(a);

    const int m = 256;
    double* const p = malloc(sizeof *p * (size_t)(m * m) * 3);
    for (int i = 0; i < 2 * m * m; ++i) p[i] = (i % 13) - 6;
#pragma omp parallel
#pragma omp single
    product(p + 2 * m * m, m, p, m, p + m * m, m, m);
    double total = 0;
    for (int i = 0; i < m * m; ++i) total += p[2 * m * m + i] * (i % 7);
    printf("product %.17g\n", total);
    free(p);

    printf("lu %.17g\n", sparse_lu());

#pragma omp parallel
#pragma omp single
    count = nodes(1, 0);
    printf("tree %ld\n", count);
    return 0;
}
