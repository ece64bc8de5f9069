#pragma once

#include "machine/machine.hpp"

#include <string>
#include <string_view>

namespace weft {

// A machine file from which parse_toml() makes the same machine, but for the numbers that the operating system gives
// to its cores. A figure that is a default has a comment with its source. Throws weft::error for a machine whose
// caches the format cannot describe: caches of one level and one class of cores that differ, or that are shared by
// different numbers of cores.
std::string to_toml(const machine&);

// The text as a string of TOML, with its quotes.
std::string toml_string(std::string_view text);

} // namespace weft
