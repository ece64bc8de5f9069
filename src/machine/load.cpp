#include "machine/load.hpp"

namespace weft {

machine load_machine(std::string_view spec) {
    const std::size_t first = spec.find_first_not_of(" \t\n");
    if (first == spec.npos) return this_machine();
    spec = spec.substr(first, spec.find_last_not_of(" \t\n") - first + 1);
    if (spec.ends_with(".toml")) return load_toml(std::filesystem::path(spec));
    if (spec.ends_with(".xml")) return load_xml(std::filesystem::path(spec));
    return load_synthetic(std::string(spec));
}

} // namespace weft
