// The best local alignment of two sequences, by blocks of its matrix: a wavefront as a graph of tasks.
//
//   T. F. Smith, M. S. Waterman: Identification of common molecular subsequences. Journal of Molecular
//   Biology 147(1), 1981. Gaps cost the same for each letter here.
//
// H(i, j), the best score of alignments that end at letters i and j, needs H of the neighbours above, to the
// left and between them. Of the matrix only two edges are kept: what a row of blocks hands to the right, and
// what a column of blocks hands down. A task changes one of each; no more needs to be said. The best score of
// all is made by all of them, in any order.
#pragma once

#include "../common/cost.hpp"
#include "../common/random.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace examples {

inline constexpr double alignment_cycles_per_cell = 5.4;

inline constexpr int alignment_match = 2, alignment_mismatch = -1, alignment_gap = -2;

// Letters of DNA.
inline std::string random_sequence(std::size_t length, std::uint64_t seed) {
    std::string s(length, ' ');
    for (std::size_t i = 0; i < length; ++i) s[i] = "ACGT"[random_at(seed, i) >> 62];
    return s;
}

// A relative: of 16 letters one is another one, one is missing, one is followed by a new one.
inline std::string mutated(std::string_view s, std::uint64_t seed) {
    std::string relative;
    for (std::size_t i = 0; i < s.size(); ++i) {
        const std::uint64_t random = random_at(seed, i);
        const char other = "ACGT"[random >> 62];
        if (random % 16 == 1) continue;
        relative += random % 16 == 0 ? other : s[i];
        if (random % 16 == 2) relative += other;
    }
    return relative;
}

class alignment {
public:
    alignment(std::string_view a, std::string_view b, std::size_t block)
        : left_(pieces(a, block))
        , above_(pieces(b, block)) {}

    // BEGIN-EXAMPLE wavefront
    void add_to(weft::graph& dag) {
        for (edge& left : left_) {
            for (edge& above : above_) {
                dag.add([&] { fill(left, above); }, weft::read(std::span(left.letters)),
                        weft::read(std::span(above.letters)), weft::readwrite(std::span(left.scores)),
                        weft::readwrite(std::span(above.scores)), weft::concurrent(best_),
                        weft::name("block"));
            }
        }
    }
    // END-EXAMPLE wavefront

    int best() const { return best_.load(std::memory_order_relaxed); }

    // The last row of the matrix.
    std::vector<int> last_row() const {
        std::vector<int> row;
        for (const edge& e : above_) row.insert(row.end(), e.scores.begin(), e.scores.end());
        return row;
    }

private:
    // What a row (column) of blocks hands on: the scores of its last column (row), for each of its letters,
    // and the score before them.
    struct edge {
        std::string_view letters;
        std::vector<int> scores;
        int corner = 0;
    };

    static std::vector<edge> pieces(std::string_view s, std::size_t block) {
        std::vector<edge> all;
        for (std::size_t i = 0; i < s.size(); i += block) {
            std::string_view letters = s.substr(i, block);
            all.push_back({letters, std::vector<int>(letters.size())});
        }
        return all;
    }

    void fill(edge& left, edge& above) {
        for (edge* e : {&left, &above}) {
            weft::touch(e->letters.data(), e->letters.size(), weft::access::read);
            weft::touch(e->scores.data(), e->scores.size() * sizeof(int), weft::access::readwrite);
        }
        spend(left.letters.size() * above.letters.size(), alignment_cycles_per_cell);
        int best = 0;
        int before = left.corner; // above the left neighbour of the row's first cell
        left.corner = above.scores.back();
        for (std::size_t i = 0; i < left.letters.size(); ++i) {
            int diagonal = before, last = left.scores[i];
            before = last;
            for (std::size_t j = 0; j < above.letters.size(); ++j) {
                const int same = left.letters[i] == above.letters[j] ? alignment_match : alignment_mismatch;
                const int up = above.scores[j];
                last = std::max({0, diagonal + same, std::max(up, last) + alignment_gap});
                diagonal = up;
                above.scores[j] = last;
                best = std::max(best, last);
            }
            left.scores[i] = last;
        }
        int known = best_.load(std::memory_order_relaxed);
        while (known < best && !best_.compare_exchange_weak(known, best, std::memory_order_relaxed)) {}
    }

    std::vector<edge> left_, above_; // one for each row of blocks, one for each column
    std::atomic<int> best_ = 0;
};

// The whole matrix row by row, by its definition: the last row, and the best score in `best`.
inline std::vector<int> serial_alignment(std::string_view a, std::string_view b, int& best) {
    std::vector<int> above(b.size() + 1), row(b.size() + 1);
    best = 0;
    for (const char letter : a) {
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const int same = letter == b[j - 1] ? alignment_match : alignment_mismatch;
            row[j] = std::max({0, above[j - 1] + same, above[j] + alignment_gap, row[j - 1] + alignment_gap});
            best = std::max(best, row[j]);
        }
        std::swap(above, row);
    }
    return {above.begin() + 1, above.end()};
}

} // namespace examples
