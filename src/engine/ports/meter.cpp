#include "engine/ports/meter.hpp"

namespace weft::engine {

std::string_view name_of(count_source s) noexcept {
    switch (s) {
    case count_source::none: return "";
    case count_source::model: return "model";
    case count_source::counters: return "counters";
    case count_source::declared: return "declared";
    case count_source::unknown: return "unknown";
    }
    return "";
}

} // namespace weft::engine
