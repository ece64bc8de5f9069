#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace weft {

/// The most that a file of settings may hold: machine descriptions, resources, scenarios, profiles.
inline constexpr std::size_t most_file_bytes = std::size_t{64} << 20;

/// The contents of a regular file of at most `most_file_bytes`. Throws weft::error, which begins with `what` ("machine
/// description"), names the file after `variable` ("WEFT_RESOURCES="), and says what is allowed, for anything else: no
/// file, a folder, a pipe, a device such as /dev/zero. It waits for none of them.
std::string read_file(const std::filesystem::path&, std::string_view what, std::string_view allowed,
                      std::string_view variable = "");

} // namespace weft
