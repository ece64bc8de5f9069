// Where the rows of a node of the tree are.
//
// Either each node has the numbers of its rows, ascending, and the table stays as it is: little is moved, but
// deep in the tree the entries of a node's rows lie far apart. Or the rows themselves move, so that a node's
// are always side by side, as in S. Shiina's thesis (U. Tokyo 2021, 5.2.3). Both have two buffers: the rows
// of a node are in one, those of its children go to the same range of the other.
#pragma once

#include "table.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace examples {

class numbered_rows {
public:
    numbered_rows(const table& data, row_set rows) : data_(&data), rows_{std::move(rows), {}} {
        rows_[1].resize(rows_[0].size());
    }

    std::size_t count() const { return rows_[0].size(); }
    // Row numbers in both buffers, the class, and a rank an attribute.
    std::size_t bytes(std::size_t n) const {
        return n * (2 * sizeof(std::uint32_t) + 1 + sizeof(std::uint16_t) * data_->attributes.size());
    }

    // From some row of a buffer on.
    class range {
    public:
        bool positive(std::size_t i) const { return data_->positive[rows_[i]] != 0; }
        std::uint16_t rank(std::size_t i, std::size_t attribute) const {
            return data_->attributes[attribute].ranks[rows_[i]];
        }
        void copy(std::size_t i, const range& from, std::size_t j) const { rows_[i] = from.rows_[j]; }

        void touch_classes(std::size_t begin, std::size_t end) const {
            touch_entries(data_->positive, begin, end);
        }
        void touch_ranks(std::size_t begin, std::size_t end, std::size_t attribute) const {
            touch_entries(data_->attributes[attribute].ranks, begin, end);
        }
        void touch_written(std::size_t begin, std::size_t end) const {
            weft::touch(rows_ + begin, (end - begin) * sizeof *rows_, weft::access::write);
        }

    private:
        friend numbered_rows;
        range(const table& data, std::uint32_t* rows) : data_(&data), rows_(rows) {}

        // Row numbers are read, and their entries in a column: all entries between the first and the last,
        // but where the rows lie far apart no more than a line each.
        template <class Value>
        void touch_entries(const std::vector<Value>& column, std::size_t begin, std::size_t end) const {
            const std::size_t span = (rows_[end - 1] - rows_[begin] + 1) * sizeof(Value);
            weft::touch(rows_ + begin, (end - begin) * sizeof *rows_, weft::access::read);
            weft::touch(column.data() + rows_[begin], std::min(span, (end - begin) * 64), weft::access::read);
        }

        const table* data_;
        std::uint32_t* rows_;
    };

    range from(int depth, std::size_t first) { return {*data_, rows_[depth % 2].data() + first}; }

private:
    const table* data_;
    row_set rows_[2];
};

class moved_rows {
public:
    moved_rows(const table& data, const row_set& rows)
        : width_(data.attributes.size() + 1)
        , count_(rows.size()) {
        for (auto& buffer : buffers_) buffer.resize(count_ * width_);
        std::uint16_t* to = buffers_[0].data();
        for (const std::uint32_t row : rows) {
            *to++ = data.positive[row];
            for (const auto& a : data.attributes) *to++ = a.ranks[row];
        }
    }

    std::size_t count() const { return count_; }
    std::size_t bytes(std::size_t n) const { return 2 * n * width_ * sizeof(std::uint16_t); } // both buffers

    class range {
    public:
        bool positive(std::size_t i) const { return values_[i * width_] != 0; }
        std::uint16_t rank(std::size_t i, std::size_t attribute) const {
            return values_[i * width_ + 1 + attribute];
        }
        void copy(std::size_t i, const range& from, std::size_t j) const {
            std::copy_n(from.values_ + j * width_, width_, values_ + i * width_);
        }

        // A line has an entry of every column.
        void touch_classes(std::size_t begin, std::size_t end) const {
            touch(begin, end, weft::access::read);
        }
        void touch_ranks(std::size_t begin, std::size_t end, std::size_t) const {
            touch(begin, end, weft::access::read);
        }
        void touch_written(std::size_t begin, std::size_t end) const {
            touch(begin, end, weft::access::write);
        }

    private:
        friend moved_rows;
        range(std::uint16_t* values, std::size_t width) : values_(values), width_(width) {}
        void touch(std::size_t begin, std::size_t end, weft::access how) const {
            weft::touch(values_ + begin * width_, (end - begin) * width_ * sizeof *values_, how);
        }

        std::uint16_t* values_; // of a row: the class, then the ranks
        std::size_t width_;
    };

    range from(int depth, std::size_t first) { return {buffers_[depth % 2].data() + first * width_, width_}; }

private:
    std::size_t width_, count_;
    std::vector<std::uint16_t> buffers_[2];
};

} // namespace examples
