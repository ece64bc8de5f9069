// A range of rows as a tree of tasks whose leaves work on them: the trees of
//
//   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, sections 3.3
//   and 3.8.2, Algorithm 3.
//
//   regular    a task divides its rows into two halves, a child each
//   irregular  as Heat-ir and its like: the child of the first half divides it into four quarters, and the
//              child of the third quarter does so too; all others into halves
//
// The same rows make the same tree whenever they are divided.
#pragma once

#include <weft/weft.hpp>

#include <cstddef>

namespace examples {

enum class task_tree { regular, irregular };

inline constexpr auto irregular_help =
    "a tree of tasks of degrees two and four, with leaves of several sizes";

// Rows has leaf(first, last), which does the rows from `first` to before `last`, and hint(first, last), which
// tells their work, their bytes and where they lie.
template <class Rows>
class row_division {
public:
    row_division(const Rows& rows, std::size_t leaf_rows, task_tree tree)
        : rows_(rows)
        , leaf_rows_(leaf_rows)
        , tree_(tree) {}

    // BEGIN-EXAMPLE division
    void by_halves(std::size_t first, std::size_t last) const {
        if (is_leaf(first, last)) return rows_.leaf(first, last);
        const std::size_t middle = first + (last - first) / 2;
        const bool four = tree_ == task_tree::irregular;
        weft::join([=, this] { four ? by_quarters(first, middle) : by_halves(first, middle); },
                   [=, this] { by_halves(middle, last); },
                   {hint(first, middle, four ? 4 : 2), hint(middle, last, 2)});
    }

    void by_quarters(std::size_t first, std::size_t last) const {
        if (is_leaf(first, last)) return rows_.leaf(first, last);
        const std::size_t quarter = (last - first) / 4;
        weft::task_group quarters(hint(first, last, 4));
        for (std::size_t i = 0; i < 4; ++i) {
            const std::size_t begin = first + i * quarter, end = i < 3 ? begin + quarter : last;
            if (begin == end) continue; // there are fewer than four rows
            quarters.run([=, this] { i == 2 ? by_quarters(begin, end) : by_halves(begin, end); },
                         hint(begin, end, i == 2 ? 4 : 2));
        }
        quarters.wait();
    }
    // END-EXAMPLE division

private:
    bool is_leaf(std::size_t first, std::size_t last) const { return last - first <= leaf_rows_; }

    weft::hints hint(std::size_t first, std::size_t last, int children) const {
        weft::hints h = rows_.hint(first, last);
        h.children = is_leaf(first, last) ? 0 : children;
        return h;
    }

    const Rows& rows_;
    std::size_t leaf_rows_;
    task_tree tree_;
};

template <class Rows>
void divide_rows(const Rows& rows, std::size_t first, std::size_t last, std::size_t leaf_rows,
                 task_tree tree = task_tree::regular) {
    row_division(rows, leaf_rows, tree).by_halves(first, last);
}

} // namespace examples
