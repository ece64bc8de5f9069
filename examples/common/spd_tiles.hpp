// A symmetric, positive definite matrix in tiles, and how far a factor is from it.
#pragma once

#include "residual.hpp"
#include "tiles.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace examples {

inline void tiled_spd_fill(const tiled_matrix& a, std::uint64_t seed) {
    fill_tiles(a, spd_cycles_per_entry,
               [n = a.size(), seed](std::size_t i, std::size_t j) { return spd_entry(n, seed, i, j); });
}

// ||A - L L^T|| / ||A||
inline double tiled_cholesky_residual(const tiled_matrix& l, std::uint64_t seed) {
    const std::size_t n = l.size();
    auto product = [&](const std::vector<double>& x) {
        std::vector<double> transposed(n), result(n); // L^T x, and L (L^T x)
        for_each_number(l, [&](std::size_t i, std::size_t j, double value) {
            if (i >= j) transposed[j] += value * x[i];
        });
        for_each_number(l, [&](std::size_t i, std::size_t j, double value) {
            if (i >= j) result[i] += value * transposed[j];
        });
        return result;
    };
    return relative_residual(
        n, seed, [&](std::size_t i, std::size_t j) { return spd_entry(n, seed, i, j); }, product);
}

} // namespace examples
