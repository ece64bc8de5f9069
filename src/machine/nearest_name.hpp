#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

namespace weft {

/// Levenshtein's distance: how many letters to insert, drop or change.
inline std::size_t edits(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < to.size(); ++j) {
            const std::size_t above = row[j + 1];
            row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (from[i] == to[j] ? 0 : 1)});
            diagonal = above;
        }
    }
    return row.back();
}

/// The name of the list that is nearest to the given one. Empty if none is near enough for the given one to
/// be a slip of the hand.
inline std::string_view nearest_name(std::string_view given, const std::vector<std::string_view>& names) {
    const auto nearest =
        std::ranges::min_element(names, {}, [&](std::string_view name) { return edits(given, name); });
    if (nearest == names.end()) return {};
    return edits(given, *nearest) <= std::max<std::size_t>(2, nearest->size() / 3) ? *nearest
                                                                                   : std::string_view{};
}

} // namespace weft
