// A table of ordinal attributes and one class of two, the input of the decision tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace examples {

// One column. A value is stored as its rank among the distinct values, so a split between any two
// neighbouring values is a split between two ranks.
struct attribute {
    std::string name;
    std::vector<std::string> levels;  // the distinct values in order, as text
    std::vector<std::uint16_t> ranks; // one a row
};

struct table {
    std::vector<attribute> attributes;
    std::vector<std::uint8_t> positive; // the class, 0 or 1, one a row

    std::size_t rows() const { return positive.size(); }
};

// The table so many times over, one behind the other.
inline table repeated(table once, std::size_t times) {
    const auto repeat = [times](auto& column) {
        const std::size_t rows = column.size();
        column.reserve(rows * times);
        for (std::size_t i = 1; i < times; ++i)
            column.insert(column.end(), column.begin(), column.begin() + static_cast<std::ptrdiff_t>(rows));
    };
    for (auto& a : once.attributes) repeat(a.ranks);
    repeat(once.positive);
    return once;
}

// Numbers of the rows of a table, without repetition.
using row_set = std::vector<std::uint32_t>;

} // namespace examples
