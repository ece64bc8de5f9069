#pragma once

/* What the programs compute: some arithmetic that no compiler removes. */
#include <stdio.h>

static __attribute__((noinline)) double compute(long steps, double x) {
    for (long i = 0; i < steps; ++i) {
        x = x * 0.999999 + 1e-6;
        __asm__ volatile("" : "+x"(x));
    }
    return x;
}

enum { us = 400, ms = 400000 }; /* steps in a microsecond, about */
