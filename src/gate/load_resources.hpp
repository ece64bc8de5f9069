#pragma once

#include "gate/resource.hpp"
#include "machine/machine.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace weft {

/// Reads from a file what a machine has; docs/resources.md has the format. Throws weft::error with the line
/// and the key. `name` names the text in errors.
resource_table parse_resources(std::string_view text, std::string_view name, const machine&);
/// The text of the file that WEFT_RESOURCES names.
std::string read_resources(const std::filesystem::path&);
resource_table load_resources(const std::filesystem::path&, const machine&);

} // namespace weft
