// Adaptive integration: halves an interval until the rule for it is exact enough.
#pragma once

#include <weft/weft.hpp>

#include "../common/cost.hpp"

#include <cmath>
#include <cstdint>

namespace examples {

// One call of the function below, with a division, and what Simpson's rule adds, on the machine of
// common/cost.hpp.
inline constexpr std::uint64_t simpson_cycles = 90;

// A peak of the given width at 0.3, on a plain: the narrower, the more uneven the tree of intervals.
struct peak {
    double width;

    double operator()(double x) const { return 1 / ((x - 0.3) * (x - 0.3) + width * width); }
    double integral(double from, double to) const {
        return (std::atan((to - 0.3) / width) - std::atan((from - 0.3) / width)) / width;
    }
};

// Simpson's rule on an interval and on its halves; where these differ too much, the halves are integrated
// in the same way, side by side.
template <class Function>
class integral {
public:
    // `cycles` is what is said of the cost of an interval.
    integral(const Function& f, double tolerance, std::uint64_t cycles)
        : f_(f)
        , tolerance_(tolerance)
        , cycles_(cycles) {}

    double over(double from, double to) const {
        const interval all{from, to, f_(from), f_((from + to) / 2), f_(to)};
        return refine(all, tolerance_);
    }

private:
    struct interval {
        double from, to;
        double first, middle, last; // of the function

        double simpson() const { return (to - from) / 6 * (first + 4 * middle + last); }
    };

    double refine(const interval& whole, double tolerance) const {
        weft::cost(cycles_);
        const double at = (whole.from + whole.to) / 2;
        const interval left{whole.from, at, whole.first, f_((whole.from + at) / 2), whole.middle};
        const interval right{at, whole.to, whole.middle, f_((at + whole.to) / 2), whole.last};
        const double both = left.simpson() + right.simpson();
        const double error = (both - whole.simpson()) / 15;
        if (std::abs(error) <= tolerance) return both + error;
        const auto [a, b] = weft::join([&] { return refine(left, tolerance / 2); },
                                       [&] { return refine(right, tolerance / 2); });
        return a + b;
    }

    const Function& f_;
    const double tolerance_;
    const std::uint64_t cycles_;
};

} // namespace examples
