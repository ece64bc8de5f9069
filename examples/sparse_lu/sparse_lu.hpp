// LU factorisation, without exchanges of rows, of a matrix of blocks most of which are zero and not there.
//
//   A. Duran, X. Teruel, R. Ferrer, X. Martorell, E. Ayguade: Barcelona OpenMP tasks suite: a set of
//   benchmarks targeting the exploitation of task parallelism in OpenMP. ICPP 2009 (SparseLU; its pattern of
//   blocks).
//
// Step k factors block (k, k), divides the blocks of its row and column that are there, and subtracts their
// products from the rest, where a block may come into being. Which, is known when the tasks are added; the
// block is made by the task that first writes it. What tasks access is the place of a block, so it need not
// be there. Each block is changed in the order of the steps, so the result has the same bits whatever the
// schedule.
#pragma once

#include "../common/cost.hpp"
#include "../common/random.hpp"
#include "../common/residual.hpp"

#include <weft/weft.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <vector>

namespace examples {

// A product and its subtraction, in blocks of 64 x 64; of block (k, k), of its row, of its column, of the
// rest. A random number.
inline constexpr double lu0_cycles_per_product = 1.1, fwd_cycles_per_product = 0.61,
                        bdiv_cycles_per_product = 1.25, bmod_cycles_per_product = 0.56,
                        sparse_cycles_per_entry = 5.3;

class sparse_matrix {
public:
    using block = std::unique_ptr<double[]>; // side x side numbers by rows; null: zeros

    sparse_matrix(std::size_t blocks, std::size_t side)
        : blocks_(blocks)
        , side_(side)
        , at_(blocks * blocks) {}

    std::size_t blocks() const { return blocks_; } // in a row
    std::size_t side() const { return side_; }
    std::size_t size() const { return blocks_ * side_; }
    std::size_t block_bytes() const { return side_ * side_ * sizeof(double); }
    block& operator()(std::size_t i, std::size_t j) { return at_[i * blocks_ + j]; }
    const block& operator()(std::size_t i, std::size_t j) const { return at_[i * blocks_ + j]; }

private:
    std::size_t blocks_, side_;
    std::vector<block> at_;
};

// The blocks of the suite's matrix before the factorisation.
inline bool sparse_lu_has_block(std::size_t i, std::size_t j) {
    if (i == j || i + 1 == j || j + 1 == i) return true;
    return i % 2 == 0 && j % 2 == 0 && (i < j ? i : j) % 3 == 0;
}

// Random numbers from -1 to 1; on the diagonal so much more that every pivot is large.
inline double sparse_lu_entry(std::size_t n, std::uint64_t seed, std::size_t i, std::size_t j) {
    double random = random_from_minus_1_to_1(seed, i * n + j);
    return i == j ? random + static_cast<double>(n) : random;
}

// The four kernels; each makes its blocks' numbers in the order of the serial program.
class sparse_lu_steps {
public:
    explicit sparse_lu_steps(std::size_t side) : side_(side) {}

    // A = L U in place; L has ones on its diagonal.
    void lu0(double* a) const {
        declare({}, a);
        spend(side_ * side_ * side_ / 3, lu0_cycles_per_product);
        for (std::size_t i = 1; i < side_; ++i) {
            for (std::size_t k = 0; k < i; ++k) {
                a[i * side_ + k] /= a[k * side_ + k];
                subtract(a + i * side_, a[i * side_ + k], a + k * side_, k + 1);
            }
        }
    }

    // A block of the row: L^-1 B.
    void fwd(const double* diagonal, double* b) const {
        declare({diagonal}, b);
        spend(side_ * side_ * side_ / 2, fwd_cycles_per_product);
        for (std::size_t i = 1; i < side_; ++i) {
            for (std::size_t k = 0; k < i; ++k) {
                subtract(b + i * side_, diagonal[i * side_ + k], b + k * side_, 0);
            }
        }
    }

    // A block of the column: B U^-1.
    void bdiv(const double* diagonal, double* b) const {
        declare({diagonal}, b);
        spend(side_ * side_ * side_ / 2, bdiv_cycles_per_product);
        for (std::size_t i = 0; i < side_; ++i) {
            for (std::size_t k = 0; k < side_; ++k) {
                b[i * side_ + k] /= diagonal[k * side_ + k];
                subtract(b + i * side_, b[i * side_ + k], diagonal + k * side_, k + 1);
            }
        }
    }

    // A block of the rest: C - A B; it may not be there yet.
    void bmod(const double* a, const double* b, sparse_matrix::block& c) const {
        if (!c) c = std::make_unique<double[]>(side_ * side_);
        declare({a, b}, c.get());
        spend(side_ * side_ * side_, bmod_cycles_per_product);
        for (std::size_t i = 0; i < side_; ++i) {
            for (std::size_t k = 0; k < side_; ++k) {
                subtract(c.get() + i * side_, a[i * side_ + k], b + k * side_, 0);
            }
        }
    }

private:
    void declare(std::initializer_list<const double*> read, const double* changed) const {
        for (const double* block : read) {
            weft::touch(block, side_ * side_ * sizeof(double), weft::access::read);
        }
        weft::touch(changed, side_ * side_ * sizeof(double), weft::access::readwrite);
    }

    // `to` minus `factor` times `row`, from number `first` on.
    void subtract(double* __restrict to, double factor, const double* __restrict row,
                  std::size_t first) const {
        for (std::size_t j = first; j < side_; ++j) to[j] -= factor * row[j];
    }

    std::size_t side_;
};

inline void sparse_lu_fill(sparse_matrix& a, std::uint64_t seed) {
    auto fill = [&](std::size_t place) {
        const std::size_t r = place / a.blocks(), c = place % a.blocks(), side = a.side();
        if (!sparse_lu_has_block(r, c)) return;
        auto& block = a(r, c);
        block = std::make_unique_for_overwrite<double[]>(side * side);
        weft::touch(block.get(), a.block_bytes(), weft::access::write);
        spend(side * side, sparse_cycles_per_entry);
        for (std::size_t i = 0; i < side; ++i) {
            for (std::size_t j = 0; j < side; ++j) {
                block[i * side + j] = sparse_lu_entry(a.size(), seed, r * side + i, c * side + j);
            }
        }
    };
    weft::parallel_for(std::size_t{0}, a.blocks() * a.blocks(), fill, {.grain = 1});
}

// BEGIN-EXAMPLE sparse_lu
inline void add_sparse_lu(weft::graph& dag, sparse_matrix& a) {
    using weft::read, weft::readwrite, weft::name;
    const sparse_lu_steps steps(a.side());
    const std::size_t blocks = a.blocks();
    std::vector<char> there(blocks * blocks);
    for (std::size_t place = 0; place < there.size(); ++place) {
        there[place] = a(place / blocks, place % blocks) != nullptr;
    }
    for (std::size_t k = 0; k < blocks; ++k) {
        auto& kk = a(k, k);
        dag.add([=, &kk] { steps.lu0(kk.get()); }, readwrite(kk), name("lu0"));
        for (std::size_t j = k + 1; j < blocks; ++j) {
            if (!there[k * blocks + j]) continue;
            auto& kj = a(k, j);
            dag.add([=, &kk, &kj] { steps.fwd(kk.get(), kj.get()); }, read(kk), readwrite(kj), name("fwd"));
        }
        for (std::size_t i = k + 1; i < blocks; ++i) {
            if (!there[i * blocks + k]) continue;
            auto& ik = a(i, k);
            dag.add([=, &kk, &ik] { steps.bdiv(kk.get(), ik.get()); }, read(kk), readwrite(ik), name("bdiv"));
        }
        for (std::size_t i = k + 1; i < blocks; ++i) {
            if (!there[i * blocks + k]) continue;
            for (std::size_t j = k + 1; j < blocks; ++j) {
                if (!there[k * blocks + j]) continue;
                there[i * blocks + j] = true;
                auto &ik = a(i, k), &kj = a(k, j), &ij = a(i, j);
                dag.add([=, &ik, &kj, &ij] { steps.bmod(ik.get(), kj.get(), ij); }, read(ik), read(kj),
                        readwrite(ij), name("bmod"));
            }
        }
    }
}
// END-EXAMPLE sparse_lu

inline void sparse_lu_serial(sparse_matrix& a) {
    const sparse_lu_steps steps(a.side());
    for (std::size_t k = 0; k < a.blocks(); ++k) {
        steps.lu0(a(k, k).get());
        for (std::size_t j = k + 1; j < a.blocks(); ++j) {
            if (a(k, j)) steps.fwd(a(k, k).get(), a(k, j).get());
        }
        for (std::size_t i = k + 1; i < a.blocks(); ++i) {
            if (!a(i, k)) continue;
            steps.bdiv(a(k, k).get(), a(i, k).get());
            for (std::size_t j = k + 1; j < a.blocks(); ++j) {
                if (a(k, j)) steps.bmod(a(i, k).get(), a(k, j).get(), a(i, j));
            }
        }
    }
}

inline std::size_t count_blocks(const sparse_matrix& a) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < a.blocks(); ++i) {
        for (std::size_t j = 0; j < a.blocks(); ++j) count += a(i, j) != nullptr;
    }
    return count;
}

// The same blocks, and the same bits in them.
inline bool same_blocks(const sparse_matrix& a, const sparse_matrix& b) {
    for (std::size_t i = 0; i < a.blocks(); ++i) {
        for (std::size_t j = 0; j < a.blocks(); ++j) {
            if ((a(i, j) == nullptr) != (b(i, j) == nullptr)) return false;
            if (a(i, j) && std::memcmp(a(i, j).get(), b(i, j).get(), a.block_bytes()) != 0) return false;
        }
    }
    return true;
}

// ||A - L U|| / ||A||
inline double sparse_lu_residual(const sparse_matrix& lu, std::uint64_t seed) {
    const std::size_t n = lu.size(), side = lu.side();
    auto for_each_number = [&](auto&& use) {
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t c = 0; c < lu.blocks(); ++c) {
                const auto& block = lu(i / side, c);
                if (!block) continue;
                for (std::size_t j = 0; j < side; ++j) use(i, c * side + j, block[i % side * side + j]);
            }
        }
    };
    auto product = [&](const std::vector<double>& x) {
        std::vector<double> upper(n), result(n); // U x, and L (U x)
        for_each_number([&](std::size_t i, std::size_t j, double value) {
            if (i <= j) upper[i] += value * x[j];
        });
        result = upper;
        for_each_number([&](std::size_t i, std::size_t j, double value) {
            if (i > j) result[i] += value * upper[j];
        });
        return result;
    };
    auto entry = [&](std::size_t i, std::size_t j) {
        return sparse_lu_has_block(i / side, j / side) ? sparse_lu_entry(n, seed, i, j) : 0;
    };
    return relative_residual(n, seed, entry, product);
}

} // namespace examples
