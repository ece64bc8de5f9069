#pragma once

#include "policy/seam/entry.hpp"

#include <span>
#include <string>
#include <string_view>

namespace weft {

/// The policies of a shared object. Once loaded it stays to the end of the process. Throws weft::error if the
/// file is not there, is no shared object, is one for other processors, needs a symbol that is not defined,
/// is no policy module, or was built for another version of the seam.
std::span<const policy_entry* const> load_policy_module(const std::string& path);

/// The one of that name; the only one if the name is empty. Throws weft::error.
const policy_entry& find_in_module(const std::string& path, std::string_view name);

} // namespace weft
