// The integral of x (x x + 1) from 0 to n by the trapezoid rule, both halves of an interval forked until they
// add nothing to the whole. The tree is deep at one end. (A program of the Cilk distribution.)
#pragma once

#include "needs.hpp"

#include <cmath>
#include <cstdint>
#include <string_view>

namespace peers {

struct integrate {
    static constexpr std::string_view name = "integrate", needs = "forks";
    static constexpr int size = 1000, warm = 30;
    static constexpr double tolerance = 1e-9;

    explicit integrate(int given) : to(given) {}

    static double f(double x) { return (x * x + 1) * x; }

    template <forks Strand>
    static double over(Strand here, double x1, double y1, double x2, double y2, double area) {
        const double half = (x2 - x1) / 2, x0 = x1 + half, y0 = f(x0);
        const double left = (y1 + y0) / 2 * half, right = (y0 + y2) / 2 * half;
        if (std::abs(left + right - area) < tolerance) return left + right;
        auto [a, b] = here.fork([=](Strand s) { return over(s, x1, y1, x0, y0, left); },
                                [=](Strand s) { return over(s, x0, y0, x2, y2, right); });
        return a + b;
    }

    template <forks Strand>
    void run(Strand here) {
        answer = over(here, 0, f(0), to, f(to), 0);
    }
    bool is_right() const {
        const double exact = to * to * (to * to + 2) / 4;
        return std::abs(answer / exact - 1) < 1e-9;
    }

    double to;
    double answer = 0;
};

} // namespace peers
