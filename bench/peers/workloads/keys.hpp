// What the sorts sort, and whether they did.
#pragma once

#include <common/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace peers {

struct keys {
    explicit keys(int n) : values(static_cast<std::size_t>(n)) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<std::uint32_t>(examples::random_at(1, i));
            before += examples::mix(values[i]);
        }
    }

    /// In order, and the same numbers as before.
    bool are_sorted() const {
        std::uint64_t now = 0;
        for (const std::uint32_t v : values) now += examples::mix(v);
        return now == before && std::is_sorted(values.begin(), values.end());
    }

    std::vector<std::uint32_t> values;
    std::uint64_t before = 0;
};

} // namespace peers
