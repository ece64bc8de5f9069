// A square matrix in square tiles, each by itself in memory, as graphs of tasks like them.
#pragma once

#include "cost.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

namespace examples {

// rows x cols numbers by columns, one column every `stride` numbers.
struct tile {
    double* values;
    std::size_t rows, cols, stride;

    // What tasks access.
    std::span<double> datum() const { return {values, cols * stride}; }
    double& at(std::size_t i, std::size_t j) const { return values[j * stride + i]; }
};

// The tiles of the last row and column may be smaller than the others. Blocks of `block` x `block` tiles (of
// less at the end of a row or column) lie each by itself in memory too. The values are not initialised, so
// that a page belongs to the worker that first writes it.
class tiled_matrix {
public:
    tiled_matrix(std::size_t n, std::size_t side, std::size_t block = 1)
        : n_(n)
        , side_(std::min(side, n))
        , block_(block)
        , tiles_((n + side_ - 1) / side_)
        , blocks_((tiles_ + block - 1) / block)
        , values_(std::make_unique_for_overwrite<double[]>(blocks_ * blocks_ * values_in_block())) {}

    std::size_t size() const { return n_; }
    std::size_t side() const { return side_; }
    std::size_t tiles() const { return tiles_; }   // in a row
    std::size_t blocks() const { return blocks_; } // in a row
    // Tiles in a row of the blocks in row or column `i` of blocks.
    std::size_t tiles_of_block(std::size_t i) const { return std::min(block_, tiles_ - i * block_); }

    tile operator()(std::size_t i, std::size_t j) const {
        double* const block = values_of_block(i / block_, j / block_);
        return {block + (j % block_ * block_ + i % block_) * side_ * side_, length(i), length(j), side_};
    }
    // What tasks access that work on a block.
    std::span<double> datum_of_block(std::size_t i, std::size_t j) const {
        return {values_of_block(i, j), values_in_block()};
    }

private:
    std::size_t length(std::size_t i) const { return std::min(side_, n_ - i * side_); }
    std::size_t values_in_block() const { return block_ * block_ * side_ * side_; }
    double* values_of_block(std::size_t i, std::size_t j) const {
        return values_.get() + (j * blocks_ + i) * values_in_block();
    }

    std::size_t n_, side_, block_, tiles_, blocks_;
    std::unique_ptr<double[]> values_;
};

// A block of a matrix, as a matrix of tiles.
class tile_block {
public:
    tile_block(const tiled_matrix& of, std::size_t row, std::size_t column)
        : of_(&of)
        , row_(row)
        , column_(column) {}

    std::size_t rows() const { return of_->tiles_of_block(row_); } // of tiles
    std::size_t columns() const { return of_->tiles_of_block(column_); }
    std::size_t tiles() const { return rows(); } // in a row, on the diagonal
    // If there are several blocks, the first one is full.
    tile operator()(std::size_t i, std::size_t j) const {
        return (*of_)(row_ * of_->tiles_of_block(0) + i, column_ * of_->tiles_of_block(0) + j);
    }
    std::span<double> datum() const { return of_->datum_of_block(row_, column_); }

private:
    const tiled_matrix* of_;
    std::size_t row_, column_;
};

// Calls use(i, j, value) for each number of the tile in row `r` and column `c` of tiles.
template <class Use>
void for_each_number(const tiled_matrix& a, std::size_t r, std::size_t c, Use&& use) {
    const tile t = a(r, c);
    for (std::size_t j = 0; j < t.cols; ++j) {
        for (std::size_t i = 0; i < t.rows; ++i) use(r * a.side() + i, c * a.side() + j, t.at(i, j));
    }
}

// The same for each number of the matrix.
template <class Use>
void for_each_number(const tiled_matrix& a, Use&& use) {
    for (std::size_t c = 0; c < a.tiles(); ++c) {
        for (std::size_t r = 0; r < a.tiles(); ++r) for_each_number(a, r, c, use);
    }
}

// Sets each number to entry(i, j), which costs so many cycles: a task a tile.
template <class Entry>
void fill_tiles(const tiled_matrix& a, double cycles_each, Entry&& entry) {
    weft::parallel_for(std::size_t{0}, a.tiles() * a.tiles(),
                       [&](std::size_t t) {
                           const std::size_t r = t % a.tiles(), c = t / a.tiles();
                           const tile to = a(r, c);
                           touch_block(to.values, to.cols, to.rows, to.stride, weft::access::write);
                           spend(to.rows * to.cols, cycles_each);
                           for_each_number(a, r, c, [&](std::size_t i, std::size_t j, double& value) {
                               value = entry(i, j);
                           });
                       },
                       {.grain = 1});
}

// The number of tasks on the longest way to the end of a factorisation by tiles, the task itself included:
// its priority. Step k factors tile (k, k), divides the tiles below (and beside) it, and subtracts their
// products from the tiles that remain; the way goes on with the next of these steps on the same tile, or to
// one that waits for it.
struct tiled_way {
    std::size_t tiles;

    int factor(std::size_t k) const { return static_cast<int>(3 * (tiles - 1 - k) + 1); }
    // of tile (i, k) or (k, i), i > k
    int solve(std::size_t i, std::size_t k) const { return static_cast<int>(2 * (i - k)) + factor(i); }
    // from tile (i, j), in step k < i, j
    int subtract(std::size_t i, std::size_t j, std::size_t k) const {
        auto [first, last] = std::minmax(i, j);
        return static_cast<int>(first - k) + (i == j ? factor(i) : solve(last, first));
    }
};

} // namespace examples
