// Three kernels that several workers run together: a product of matrices, a sort, and a copy.
//
// (Rohlin, Fahlgren, Pericas, see dag.hpp, 4.2: sizes and steps. "The three take about equal time on a LITTLE core": the sort's time
// costs are those of another core, so the product is repeated, and a sort
// costs a third more.)
#pragma once

#include "../common/cost.hpp"
#include "../common/random.hpp"
#include "../matmul/matmul.hpp"
#include "../merge_sort/merge_sort.hpp"
#include "../quicksort/quicksort.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace examples {

inline constexpr std::size_t dag_side = 64, dag_products = 68; // of a matrix; how often it is multiplied
inline constexpr double dag_sort_factor = 1.34; // cycles against those of examples/quicksort and merge_sort
inline constexpr std::size_t dag_keys = std::size_t{1} << 16; // of 4 bytes: 262 kB, and as much to merge into
inline constexpr std::size_t dag_words = 16'800'000 / 8;      // of 8 bytes: 16.8 MB, copied to as much

// Parts [begin, end) of `parts` that the share of `rank` has.
struct part_range {
    std::size_t begin, end;
    part_range(std::size_t parts, int rank, int width)
        : begin(parts * static_cast<std::size_t>(rank) / static_cast<std::size_t>(width))
        , end(parts * static_cast<std::size_t>(rank + 1) / static_cast<std::size_t>(width)) {}
};

// C = C / 2 + A B, so often. A share has rows of C.
class matmul_buffer {
public:
    matmul_buffer() {
        for (std::size_t i = 0; i < a_.size(); ++i) {
            a_[i] = random_from_minus_1_to_1(1, i);
            b_[i] = random_from_minus_1_to_1(2, i);
        }
    }
    // A number for what the share has computed; those of all shares are added.
    std::uint64_t run(int rank, int width) {
        const part_range rows(dag_side, rank, width);
        const std::size_t count = rows.end - rows.begin;
        if (count == 0) return 0;
        weft::touch(a_.data() + rows.begin * dag_side, count * dag_side * sizeof(double), weft::access::read);
        weft::touch(b_.data(), sizeof b_, weft::access::read);
        weft::touch(c_.data() + rows.begin * dag_side, count * dag_side * sizeof(double),
                    weft::access::readwrite);
        std::uint64_t sum = 0;
        spend(dag_products * count * dag_side * dag_side, matmul_cycles_per_product, weft::work::compute,
              [&] {
                  for (std::size_t k = 0; k < dag_products; ++k)
                      for (std::size_t i = rows.begin; i < rows.end; ++i) multiply_row(i);
                  for (std::size_t i = rows.begin * dag_side; i < rows.end * dag_side; ++i)
                      sum += mix(std::bit_cast<std::uint64_t>(c_[i]) + i);
              });
        return sum;
    }

private:
    void multiply_row(std::size_t i) {
        double* const c = &c_[i * dag_side];
        for (std::size_t j = 0; j < dag_side; ++j) c[j] *= 0.5;
        for (std::size_t k = 0; k < dag_side; ++k) {
            const double a = a_[i * dag_side + k];
            for (std::size_t j = 0; j < dag_side; ++j) c[j] += a * b_[k * dag_side + j];
        }
    }

    std::array<double, dag_side * dag_side> a_, b_, c_{};
};

// Quicksort of four chunks, and two levels of merging. The share that ends the second chunk of a half merges the half, and the
// one that ends the second half merges the whole: no share waits.
class sort_buffer {
public:
    std::uint64_t run(std::uint64_t seed, int rank, int width) {
        std::uint64_t sum = 0;
        const part_range mine(4, rank, width);
        for (std::size_t c = mine.begin; c < mine.end; ++c) {
            sort_chunk(seed, c);
            // acq_rel: the chunk, half or whole that the other share has made; pairs with the same of that share
            if (ended_[c / 2].fetch_add(1, std::memory_order_acq_rel) != 1) continue;
            merge(keys_.get() + c / 2 * dag_keys / 2, dag_keys / 4, merged_.get() + c / 2 * dag_keys / 2);
            if (ended_[2].fetch_add(1, std::memory_order_acq_rel) != 1) continue; // as above
            merge(merged_.get(), dag_keys / 2, keys_.get());
            for (auto& e : ended_)
                e.store(0, std::memory_order_relaxed); // the graph publishes it to the next node
            if (kernels_compute)
                for (std::size_t i = 0; i < dag_keys; ++i)
                    sum += mix(keys_[i] + (static_cast<std::uint64_t>(i) << 32U));
        }
        return sum;
    }

private:
    void sort_chunk(std::uint64_t seed, std::size_t c) {
        constexpr std::size_t n = dag_keys / 4;
        std::uint32_t* const first = keys_.get() + c * n;
        weft::touch(first, n * sizeof(std::uint32_t), weft::access::readwrite);
        spend(n * static_cast<std::size_t>(std::bit_width(n)), dag_sort_factor * sort_cycles_per_key_and_bit,
              [&] {
                  for (std::size_t i = 0; i < n; ++i)
                      first[i] = static_cast<std::uint32_t>(random_at(seed, c * n + i));
                  std::sort(first, first + n);
              });
    }
    // Two adjacent sorted runs of `n` keys.
    static void merge(const std::uint32_t* from, std::size_t n, std::uint32_t* to) {
        weft::touch(from, 2 * n * sizeof(std::uint32_t), weft::access::read);
        weft::touch(to, 2 * n * sizeof(std::uint32_t), weft::access::write);
        spend(2 * n, dag_sort_factor * merge_cycles_per_record,
              [&] { std::merge(from, from + n, from + n, from + 2 * n, to); });
    }

    std::unique_ptr<std::uint32_t[]> keys_{new std::uint32_t[dag_keys]}, merged_{new std::uint32_t[dag_keys]};
    std::array<std::atomic<int>, 3> ended_{}; // chunks of each half, and halves
};

class copy_buffer {
public:
    explicit copy_buffer(std::size_t words)
        : words_(words)
        , from_(new std::uint64_t[words])
        , to_(new std::uint64_t[words]) {
        if (kernels_compute)
            for (std::size_t i = 0; i < words_; ++i) from_[i] = to_[i] = i;
    }
    std::uint64_t run(std::uint64_t seed, int rank, int width) {
        constexpr std::size_t blocks = 64;
        const part_range mine(blocks, rank, width);
        std::uint64_t sum = 0;
        for (std::size_t b = mine.begin; b < mine.end; ++b) {
            const std::size_t first = words_ * b / blocks, n = words_ * (b + 1) / blocks - first;
            weft::touch(from_.get() + first, n * 8, weft::access::read);
            weft::touch(to_.get() + first, n * 8, weft::access::write);
            weft::cost(1, weft::work::memory);
            if (!kernels_compute) continue;
            from_[first] = mix(seed + b) ^ to_[first];
            std::memcpy(to_.get() + first, from_.get() + first, n * 8);
            sum += mix(to_[first + n - 1] + to_[first]);
        }
        return sum;
    }

private:
    std::size_t words_;
    std::unique_ptr<std::uint64_t[]> from_, to_;
};

} // namespace examples
