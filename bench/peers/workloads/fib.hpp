// All forks, no work, no cut-off: what a fork costs.
#pragma once

#include "needs.hpp"

#include <fib/fib.hpp>

#include <cstdint>
#include <string_view>

namespace peers {

struct fib {
    static constexpr std::string_view name = "fib", needs = "forks";
    static constexpr int size = 35, warm = 25;

    explicit fib(int given) : n(static_cast<unsigned>(given)) {}

    template <forks Strand>
    static std::uint64_t of(Strand here, unsigned n) {
        if (n < 2) return n;
        auto [a, b] =
            here.fork([=](Strand s) { return of(s, n - 1); }, [=](Strand s) { return of(s, n - 2); });
        return a + b;
    }

    template <forks Strand>
    void run(Strand here) {
        answer = of(here, n);
    }
    bool is_right() const { return answer == examples::fib_by_iteration(n); }
    double nodes() const { return static_cast<double>(examples::fib_by_iteration(n + 1) - 1); } // forks

    unsigned n;
    std::uint64_t answer = 0;
};

} // namespace peers
