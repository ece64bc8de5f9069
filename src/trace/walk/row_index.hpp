#pragma once

#include "trace/walk/tables.hpp"
#include "trace/write/record.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace weft::trace {

/// From the numbers of tasks to rows: an array while the numbers are dense, else a hash table.
class row_index {
public:
    explicit row_index(std::span<const record> records) {
        std::uint64_t largest = 0, tasks = 0;
        for (const record& r : records) {
            if (r.what_kind != kind::spawn) continue;
            largest = std::max<std::uint64_t>(largest, static_cast<std::uint32_t>(r.a));
            ++tasks;
        }
        // Each worker takes numbers by the thousand and need not use them up.
        if (largest <= 16 * tasks + 4'000'000) dense_.assign(largest + 1, no_row);
    }

    row find(std::uint32_t number) const {
        if (number < dense_.size()) return dense_[number];
        const auto found = sparse_.find(number);
        return found == sparse_.end() ? no_row : found->second;
    }
    void set(std::uint32_t number, row r) {
        if (number < dense_.size())
            dense_[number] = r;
        else
            sparse_[number] = r;
    }

private:
    std::vector<row> dense_;
    std::unordered_map<std::uint32_t, row> sparse_;
};

} // namespace weft::trace
