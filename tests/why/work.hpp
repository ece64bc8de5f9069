#pragma once

/// What the programs compute: some arithmetic that no compiler removes.
#include <cstdio>

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
