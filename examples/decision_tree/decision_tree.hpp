// CART: a binary classification tree, grown by the Gini impurity, its depth chosen by cross-validation.
// (Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, 1984.)
//
// Four things run in parallel, one inside the other: the folds of the cross-validation, the subtrees of a
// node, the attributes of a node, and blocks of its rows (histograms, and the partition). Every number that
// decides something is a sum of whole numbers or comes from such sums by one fixed expression, so the tree
// is the same to the bit under every scheduler and number of workers.
#pragma once

#include "rows.hpp"
#include "table.hpp"

#include "../common/cost.hpp"
#include "../common/hint.hpp"
#include "../common/random.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace examples {

struct tree_limits {
    int max_depth = 30;
    std::uint32_t min_leaf_rows = 5;
    std::size_t task_rows = 2048;   // nodes with fewer rows, and what is below them, are one task
    std::size_t block_rows = 16384; // rows counted by one task
    bool move_rows = false;         // else their numbers: rows.hpp
};

struct tree_node {
    std::int32_t left = -1, right = -1; // indices of the children, -1 in a leaf
    std::uint16_t attribute = 0;        // rows whose rank is at most `rank` go left
    std::uint16_t rank = 0;
    std::uint32_t negatives = 0, positives = 0; // training rows

    bool leaf() const { return left < 0; }
    bool majority() const { return positives > negatives; }
    bool operator==(const tree_node&) const = default;
};

// Nodes in the order node, left subtree, right subtree.
using decision_tree = std::vector<tree_node>;

namespace cart {

struct class_counts {
    std::uint32_t of[2] = {0, 0};

    std::uint32_t rows() const { return of[0] + of[1]; }
    friend class_counts operator+(class_counts a, class_counts b) {
        return {a.of[0] + b.of[0], a.of[1] + b.of[1]};
    }
    friend class_counts operator-(class_counts a, class_counts b) {
        return {a.of[0] - b.of[0], a.of[1] - b.of[1]};
    }
};

// A row whose class is counted; the same by the rank of an attribute; a row that is asked where it goes, and
// one that goes there.
inline constexpr double cycles_per_class = 4.7, cycles_per_row = 2, cycles_per_question = 1.2,
                        cycles_per_move = 14;
// A rank of a histogram, and one that has rows, which takes two divisions.
inline constexpr double cycles_per_rank = 3, cycles_per_candidate = 10;
// A row that is put into a fold, or not; a level of the tree at which a row is predicted.
inline constexpr double cycles_per_fold = 14.6, cycles_per_level = 2.7;

// Rows of each class, one entry a rank of one attribute.
using histogram = std::vector<class_counts>;

struct split {
    double score = -1;
    std::size_t attribute = 0;
    std::uint16_t rank = 0;
};

// Large where the classes are apart: n - score is n times the Gini impurity. The squares are exact (counts
// are below 2^26) and nothing is multiplied after the division, so no compiler may round it in two ways.
inline double score(class_counts c) {
    auto negatives = static_cast<double>(c.of[0]), positives = static_cast<double>(c.of[1]);
    double squares = negatives * negatives;
    squares += positives * positives;
    return squares / static_cast<double>(c.rows());
}

inline split best_split(const histogram& counts, class_counts all, std::size_t attribute,
                        std::uint32_t min_rows) {
    spend(counts.size(), cycles_per_rank);
    spend(std::min<std::size_t>(counts.size(), all.rows()), cycles_per_candidate);
    split best;
    class_counts left;
    for (std::size_t rank = 0; rank + 1 < counts.size(); ++rank) {
        if (counts[rank].rows() == 0) continue;
        left = left + counts[rank];
        class_counts right = all - left;
        if (right.rows() < min_rows) break;
        if (left.rows() < min_rows) continue;
        double candidate = score(left) + score(right);
        if (candidate > best.score) best = {candidate, attribute, static_cast<std::uint16_t>(rank)};
    }
    return best;
}

struct branch {
    tree_node node;
    std::unique_ptr<branch> left, right;
};

template <class Rows>
class grower {
public:
    grower(const table& data, row_set rows, const tree_limits& limits)
        : data_(data)
        , limits_(limits)
        , rows_(data, std::move(rows)) {}

    std::unique_ptr<branch> grow() { return grow(0, rows_.count(), 0); }

private:
    using range = typename Rows::range;

    // Nodes of one depth have ranges apart, so no two tasks write the same row.
    std::unique_ptr<branch> grow(std::size_t first, std::size_t last, int depth) {
        const range rows = rows_.from(depth, first);
        const std::size_t n = last - first;
        class_counts all = count_classes(rows, n);
        auto result = std::make_unique<branch>();
        result->node.negatives = all.of[0];
        result->node.positives = all.of[1];
        if (depth == limits_.max_depth || all.of[0] == 0 || all.of[1] == 0 || n < 2 * limits_.min_leaf_rows)
            return result;

        split best = find_split(rows, n, all);
        if (!(best.score > score(all))) return result;
        result->node.attribute = static_cast<std::uint16_t>(best.attribute);
        result->node.rank = best.rank;
        std::size_t middle = first + partition(rows, n, best, rows_.from(depth + 1, first));

        if (n < limits_.task_rows) {
            result->left = grow(first, middle, depth + 1);
            result->right = grow(middle, last, depth + 1);
            return result;
        }
        weft::task_group subtrees(hint(n, rows_.bytes(n)));
        subtrees.run([this, &result, first, middle, depth] { result->left = grow(first, middle, depth + 1); },
                     hint(middle - first, rows_.bytes(middle - first)));
        subtrees.run([this, &result, middle, last, depth] { result->right = grow(middle, last, depth + 1); },
                     hint(last - middle, rows_.bytes(last - middle)));
        subtrees.wait();
        return result;
    }

    std::size_t blocks(std::size_t n) const { return (n + limits_.block_rows - 1) / limits_.block_rows; }

    // Calls body(block, begin, end) for consecutive blocks of n rows.
    template <class Body>
    void for_blocks(std::size_t n, const Body& body) const {
        auto one = [&](std::size_t block) {
            body(block, block * limits_.block_rows, std::min(n, (block + 1) * limits_.block_rows));
        };
        if (blocks(n) == 1) {
            one(0);
        } else {
            weft::parallel_for(std::size_t{0}, blocks(n), one, {.grain = 1});
        }
    }

    class_counts count_classes(const range& rows, std::size_t n) const {
        std::vector<class_counts> counts(blocks(n));
        for_blocks(n, [&](std::size_t block, std::size_t begin, std::size_t end) {
            rows.touch_classes(begin, end);
            spend(end - begin, cycles_per_class);
            class_counts mine;
            for (std::size_t i = begin; i < end; ++i) ++mine.of[rows.positive(i)];
            counts[block] = mine;
        });
        return std::accumulate(counts.begin(), counts.end(), class_counts{});
    }

    split find_split(const range& rows, std::size_t n, class_counts all) const {
        std::vector<split> found(data_.attributes.size());
        auto one = [&](std::size_t a) {
            found[a] = best_split(count_ranks(rows, n, a), all, a, limits_.min_leaf_rows);
        };
        if (n < limits_.task_rows) {
            for (std::size_t a = 0; a < found.size(); ++a) one(a);
        } else {
            weft::parallel_for(std::size_t{0}, found.size(), one, {.grain = 1});
        }
        // The first of equals: max_element does not prefer the one that was ready first.
        return *std::max_element(found.begin(), found.end(),
                                 [](const split& x, const split& y) { return x.score < y.score; });
    }

    histogram count_ranks(const range& rows, std::size_t n, std::size_t attribute) const {
        auto count = [&](std::size_t block) {
            histogram counts(data_.attributes[attribute].levels.size());
            std::size_t begin = block * limits_.block_rows;
            std::size_t end = std::min(n, begin + limits_.block_rows);
            rows.touch_ranks(begin, end, attribute);
            rows.touch_classes(begin, end);
            spend(end - begin, cycles_per_row);
            for (std::size_t i = begin; i < end; ++i) {
                ++counts[rows.rank(i, attribute)].of[rows.positive(i)];
            }
            return counts;
        };
        if (blocks(n) == 1) return count(0);
        auto add = [](histogram x, const histogram& y) {
            if (x.empty()) return y;
            for (std::size_t i = 0; i < y.size(); ++i) x[i] = x[i] + y[i];
            return x;
        };
        return weft::parallel_reduce(std::size_t{0}, blocks(n), histogram{}, count, add);
    }

    // Copies the rows to `out`, those of the left child first, both in their old order; returns how many are
    // left.
    std::size_t partition(const range& rows, std::size_t n, const split& by, const range& out) const {
        auto goes_left = [&](std::size_t i) { return rows.rank(i, by.attribute) <= by.rank; };
        std::vector<std::size_t> left_before(blocks(n) + 1);
        for_blocks(n, [&](std::size_t block, std::size_t begin, std::size_t end) {
            rows.touch_ranks(begin, end, by.attribute);
            spend(end - begin, cycles_per_question);
            std::size_t lefts = 0;
            for (std::size_t i = begin; i < end; ++i) lefts += goes_left(i);
            left_before[block + 1] = lefts;
        });
        std::partial_sum(left_before.begin(), left_before.end(), left_before.begin());
        const std::size_t all_left = left_before.back();
        for_blocks(n, [&](std::size_t block, std::size_t begin, std::size_t end) {
            std::size_t left = left_before[block], right = all_left + begin - left;
            rows.touch_ranks(begin, end, by.attribute);
            out.touch_written(left, left_before[block + 1]);
            out.touch_written(right, right + end - begin - (left_before[block + 1] - left));
            spend(end - begin, cycles_per_move);
            for (std::size_t i = begin; i < end; ++i) out.copy(goes_left(i) ? left++ : right++, rows, i);
        });
        return all_left;
    }

    const table& data_;
    const tree_limits limits_;
    Rows rows_;
};

inline std::int32_t flatten(const branch& from, decision_tree& to) {
    auto index = static_cast<std::int32_t>(to.size());
    to.push_back(from.node);
    if (from.left) {
        std::int32_t left = flatten(*from.left, to), right = flatten(*from.right, to);
        to[static_cast<std::size_t>(index)].left = left;
        to[static_cast<std::size_t>(index)].right = right;
    }
    return index;
}

} // namespace cart

inline decision_tree grow_tree(const table& data, row_set rows, const tree_limits& limits) {
    decision_tree tree;
    if (limits.move_rows)
        cart::flatten(*cart::grower<moved_rows>(data, std::move(rows), limits).grow(), tree);
    else
        cart::flatten(*cart::grower<numbered_rows>(data, std::move(rows), limits).grow(), tree);
    return tree;
}

// Calls visit(depth, node) for every node from the root to the leaf of a row.
template <class Visit>
void walk(const decision_tree& tree, const table& data, std::uint32_t row, const Visit& visit) {
    const tree_node* node = &tree.front();
    for (std::size_t depth = 0;; ++depth) {
        visit(depth, *node);
        if (node->leaf()) return;
        bool left = data.attributes[node->attribute].ranks[row] <= node->rank;
        node = &tree[static_cast<std::size_t>(left ? node->left : node->right)];
    }
}

inline bool predict(const decision_tree& tree, const table& data, std::uint32_t row) {
    bool answer = false;
    walk(tree, data, row, [&](std::size_t, const tree_node& node) { answer = node.majority(); });
    return answer;
}

// Share of the rows whose class is predicted.
inline double accuracy(const decision_tree& tree, const table& data, const row_set& rows) {
    auto right = weft::parallel_reduce(
        std::size_t{0}, rows.size(), std::size_t{0},
        [&](std::size_t i) -> std::size_t {
            return predict(tree, data, rows[i]) == (data.positive[rows[i]] != 0);
        },
        [](std::size_t a, std::size_t b) { return a + b; });
    return static_cast<double>(right) / static_cast<double>(rows.size());
}

// The depth, at most limits.max_depth, at which trees grown without one fold predict that fold best; the
// smallest of equals. A row's fold is a hash of its number.
inline int choose_depth(const table& data, const row_set& rows, std::size_t folds, std::uint64_t seed,
                        const tree_limits& limits) {
    auto fold_of = [&](std::uint32_t row) { return random_at(seed, row) % folds; };
    auto depths = static_cast<std::size_t>(limits.max_depth) + 1;
    // right[fold][depth]: rows predicted by the tree cut at that depth
    std::vector<std::vector<std::size_t>> right(folds, std::vector<std::size_t>(depths));
    auto one = [&](std::size_t fold) {
        row_set inside, outside;
        for (std::uint32_t row : rows) (fold_of(row) == fold ? outside : inside).push_back(row);
        if (inside.empty()) return;
        auto touch_all = [](const row_set& set, weft::access how) {
            weft::touch(set.data(), set.size() * sizeof set[0], how);
        };
        touch_all(rows, weft::access::read);
        touch_all(inside, weft::access::write);
        touch_all(outside, weft::access::write);
        spend(rows.size(), cart::cycles_per_fold);
        decision_tree tree = grow_tree(data, std::move(inside), limits);
        std::size_t levels = 0;
        for (std::uint32_t row : outside) {
            std::size_t reached = 0;
            bool hit = false;
            walk(tree, data, row, [&](std::size_t depth, const tree_node& node) {
                hit = node.majority() == (data.positive[row] != 0);
                right[fold][depth] += hit;
                reached = depth;
            });
            for (std::size_t depth = reached + 1; depth < depths; ++depth) right[fold][depth] += hit;
            levels += depths;
        }
        spend(levels, cart::cycles_per_level);
    };
    weft::parallel_for(std::size_t{0}, folds, one, {.grain = 1});

    std::vector<std::size_t> total(depths);
    for (const auto& fold : right) {
        for (std::size_t depth = 0; depth < depths; ++depth) total[depth] += fold[depth];
    }
    return static_cast<int>(std::max_element(total.begin(), total.end()) - total.begin());
}

// Chooses the depth by cross-validation, with fewer than two folds takes the largest, and grows the tree.
inline decision_tree train(const table& data, const row_set& rows, std::size_t folds, std::uint64_t seed,
                           tree_limits limits = {}) {
    if (folds >= 2) limits.max_depth = choose_depth(data, rows, folds, seed, limits);
    return grow_tree(data, rows, limits);
}

struct data_split {
    row_set training, test;
};

// A row is for the test, three rows of ten, by a hash of its number.
inline data_split split_rows(const table& data, std::uint64_t seed) {
    data_split result;
    for (std::uint32_t row = 0; row < data.rows(); ++row) {
        (random_at(~seed, row) % 10 < 3 ? result.test : result.training).push_back(row);
    }
    return result;
}

// Accuracy on `test` of predicting the more frequent class of `training` whatever the row.
inline double majority_accuracy(const table& data, const data_split& rows) {
    auto positives = [&](const row_set& set) {
        return std::count_if(set.begin(), set.end(),
                             [&](std::uint32_t row) { return data.positive[row] != 0; });
    };
    auto answer = 2 * static_cast<std::size_t>(positives(rows.training)) > rows.training.size();
    double share = static_cast<double>(positives(rows.test)) / static_cast<double>(rows.test.size());
    return answer ? share : 1 - share;
}

inline int tree_depth(const decision_tree& tree, std::size_t index = 0) {
    const tree_node& node = tree[index];
    if (node.leaf()) return 0;
    return 1 + std::max(tree_depth(tree, static_cast<std::size_t>(node.left)),
                        tree_depth(tree, static_cast<std::size_t>(node.right)));
}

// The same for equal trees, on every platform.
inline std::uint64_t tree_hash(const decision_tree& tree) {
    std::uint64_t h = tree.size();
    for (const auto& node : tree) {
        for (std::uint64_t field :
             {static_cast<std::uint64_t>(node.left), static_cast<std::uint64_t>(node.right),
              std::uint64_t{node.attribute}, std::uint64_t{node.rank}, std::uint64_t{node.negatives},
              std::uint64_t{node.positives}}) {
            h = mix(h ^ field);
        }
    }
    return h;
}

} // namespace examples
