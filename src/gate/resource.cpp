#include "gate/resource.hpp"

#include <algorithm>

namespace weft {

std::int64_t resource::most() const noexcept {
    std::int64_t most = 0;
    for (const quantity& q : at) most = std::max(most, q.total);
    return most;
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
