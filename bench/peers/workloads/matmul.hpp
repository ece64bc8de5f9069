// C += A B by halving the largest dimension; the halves of rows and columns are forked, down to blocks of 64.
#pragma once

#include "needs.hpp"

#include <matmul/matmul.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace peers {

struct matmul {
    static constexpr std::string_view name = "matmul", needs = "forks";
    static constexpr int size = 1024, warm = 128;
    static constexpr std::size_t leaf = 64;

    explicit matmul(int given) : n(static_cast<std::size_t>(given)) {
        examples::fill(a, 1);
        examples::fill(b, 2);
    }

    template <forks Strand>
    static void multiply(Strand here, const examples::product& p) {
        if (p.m <= leaf && p.n <= leaf && p.k <= leaf) return examples::multiply_leaf(p);
        examples::product x = p, y = p;
        if (p.k > p.m && p.k > p.n) { // both add to the same block
            x.k = p.k / 2;
            y.k = p.k - x.k;
            y.a += x.k;
            y.b += x.k * p.b_stride;
            multiply(here, x);
            multiply(here, y);
            return;
        }
        if (p.m >= p.n) {
            x.m = p.m / 2;
            y.m = p.m - x.m;
            y.a += x.m * p.a_stride;
            y.c += x.m * p.c_stride;
        } else {
            x.n = p.n / 2;
            y.n = p.n - x.n;
            y.b += x.n;
            y.c += x.n;
        }
        here.fork([&](Strand s) { multiply(s, x); }, [&](Strand s) { multiply(s, y); });
    }

    template <forks Strand>
    void run(Strand here) {
        multiply(here, {a.at(0, 0), b.at(0, 0), c.at(0, 0), n, n, n, n, n, n});
    }

    // Two rows in full; the entries are whole numbers, so all sums are exact.
    bool is_right() const {
        for (const std::size_t i : {std::size_t{0}, n - 1}) {
            for (std::size_t j = 0; j < n; ++j) {
                double sum = 0;
                for (std::size_t k = 0; k < n; ++k) sum += *a.at(i, k) * *b.at(k, j);
                if (sum != *c.at(i, j)) return false;
            }
        }
        return true;
    }

    std::size_t n;
    examples::matrix a{n, n}, b{n, n}, c{n, n};
};

} // namespace peers
