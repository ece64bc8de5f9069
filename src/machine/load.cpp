#include "machine/load.hpp"

#include "machine/machine_files.hpp"

#include <weft/error.hpp>

namespace weft {

namespace {

machine load_path(const std::filesystem::path& file) {
    if (file.extension() == ".toml") return load_toml(file);
    if (file.extension() == ".xml") return load_xml(file);
    throw error("unknown kind of machine description", file.string(), "a file ending in .toml or .xml");
}

} // namespace

std::string_view trimmed_machine_spec(std::string_view spec) {
    const std::size_t first = spec.find_first_not_of(" \t\n");
    return first == spec.npos ? std::string_view{}
                              : spec.substr(first, spec.find_last_not_of(" \t\n") - first + 1);
}

bool is_this_machine(std::string_view spec) {
    const std::string_view text = trimmed_machine_spec(spec);
    return text.empty() || text == "this";
}

machine load_machine(std::string_view spec) {
    if (is_this_machine(spec)) return this_machine();
    spec = trimmed_machine_spec(spec);
    if (is_machine_path(spec)) return load_path(std::filesystem::path(spec));
    if (is_machine_name(spec)) return load_path(find_machine_file(spec));
    return load_synthetic(std::string(spec));
}

} // namespace weft
