// A plate of numbers for the examples that sweep over one.
#pragma once

#include <weft/weft.hpp>

#include <cstddef>
#include <memory>

namespace examples {

// rows x cols inner points with a border of one point around them. The values are not initialised, so
// that a page belongs to the worker that first writes it.
template <class Value>
class basic_grid {
public:
    basic_grid(std::size_t rows, std::size_t cols)
        : rows_(rows)
        , cols_(cols)
        , values_(std::make_unique_for_overwrite<Value[]>((rows + 2) * (cols + 2))) {}

    std::size_t rows() const { return rows_; }
    std::size_t cols() const { return cols_; }
    std::size_t stride() const { return cols_ + 2; }
    std::size_t bytes() const { return (rows_ + 2) * stride() * sizeof(Value); }
    // Row 0 and row rows() + 1 are border, and so are column 0 and column cols() + 1.
    Value* row(std::size_t i) { return values_.get() + i * stride(); }
    const Value* row(std::size_t i) const { return values_.get() + i * stride(); }

    // Of a task that works on rows [first, last) of so many plates like this one.
    weft::hints hint(std::size_t first, std::size_t last, std::size_t plates) const {
        return {.work = static_cast<double>(last - first),
                .bytes = plates * (last - first) * stride() * sizeof(Value),
                .data_begin = row(first),
                .data_end = row(last)};
    }

private:
    std::size_t rows_, cols_;
    std::unique_ptr<Value[]> values_;
};

using grid = basic_grid<double>;

template <class Value>
bool same_values(const basic_grid<Value>& x, const basic_grid<Value>& y) {
    for (std::size_t i = 0; i <= x.rows() + 1; ++i) {
        for (std::size_t j = 0; j < x.stride(); ++j) {
            if (x.row(i)[j] != y.row(i)[j]) return false;
        }
    }
    return true;
}

} // namespace examples
