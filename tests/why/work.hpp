#pragma once

/// What the programs compute: some arithmetic that no compiler removes.
#include <cstdio>

/// Whether fault `n` is mended in this twin, counted from 1 in the order of their marks. MENDED is the number of the only one
/// that is, or 0: all are. Programs with one fault ask for MENDED alone.
#ifdef MENDED
#    define IS_MENDED(n) (MENDED == 0 || MENDED == (n))
#else
#    define IS_MENDED(n) 0
#endif

/// Returns a number that depends on all `steps`.
[[gnu::noinline]] inline double compute(long steps, double x = 1.0) {
    for (long i = 0; i < steps; ++i) {
        x = x * 0.999999 + 1e-6;
        asm volatile("" : "+x"(x)); // neither removed nor done once for all calls
    }
    return x;
}

constexpr long us = 400; ///< steps of compute() in a microsecond, about
constexpr long ms = 1000 * us;
