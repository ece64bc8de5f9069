// A matrix to be factored, and how far a factorisation is from the matrix that it was made of.
#pragma once

#include "random.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace examples {

// A random entry.
inline constexpr double spd_cycles_per_entry = 5.4;

// Entry of a symmetric matrix with random numbers from -1 to 1, and n more on the diagonal: by Gershgorin's
// theorem no eigenvalue is below 0.
inline double spd_entry(std::size_t n, std::uint64_t seed, std::size_t i, std::size_t j) {
    std::uint64_t place = i >= j ? i * n + j : j * n + i;
    double random = random_from_minus_1_to_1(seed, place);
    return i == j ? random + static_cast<double>(n) : random;
}

// ||A - F|| / ||A|| by Frobenius' norm, estimated: for a vector x of random signs |R x|^2 is ||R||^2 on
// average. So it takes n^2 steps for each x, and none of the code that it checks. `entry(i, j)` is of A,
// `apply(x)` is F x.
template <class Entry, class Apply>
double relative_residual(std::size_t n, std::uint64_t seed, Entry&& entry, Apply&& apply) {
    constexpr std::size_t vectors = 4;
    std::vector<double> x[vectors], difference[vectors];
    for (std::size_t v = 0; v < vectors; ++v) {
        x[v].resize(n);
        difference[v].resize(n);
        for (std::size_t i = 0; i < n; ++i) x[v][i] = random_at(seed + 1 + v, i) >> 63 ? 1 : -1;
    }
    double norm = 0, residual = 0;
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < n; ++i) {
            double a = entry(i, j);
            norm += a * a;
            for (std::size_t v = 0; v < vectors; ++v) difference[v][i] += a * x[v][j];
        }
    }
    for (std::size_t v = 0; v < vectors; ++v) {
        std::vector<double> product = apply(x[v]);
        for (std::size_t i = 0; i < n; ++i) {
            double d = difference[v][i] - product[i];
            residual += d * d;
        }
    }
    return std::sqrt(residual / vectors / norm);
}

} // namespace examples
