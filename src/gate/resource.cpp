#include "gate/resource.hpp"

#include <algorithm>

namespace weft {

std::int64_t resource::most() const noexcept {
    std::int64_t most = 0;
    for (const quantity& q : at) most = std::max(most, q.total);
    return most;
}

int resource::place_at(int rank) const noexcept {
    if (!has_places()) return 0;
    for (std::size_t i = 0; i < at.size(); ++i)
        if (at[i].ranks.contains(rank)) return static_cast<int>(i);
    return -1;
}

resource* resource_table::find(std::string_view name) const noexcept {
    for (const auto& r : all)
        if (r->name == name) return r.get();
    return nullptr;
}

std::string resource_table::names() const {
    std::string text;
    for (const auto& r : all) text += (text.empty() ? "" : ", ") + r->name;
    return text.empty() ? "none: there is no resources file (WEFT_RESOURCES)" : text;
}

} // namespace weft
