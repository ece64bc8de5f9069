#pragma once

#include "machine/machine.hpp"

#include <string_view>
#include <vector>

namespace weft::api {

inline constexpr std::string_view speeds_of_machine = "machine";

/// The speeds that `text` says, in the form of WEFT_SPEEDS, for workers on `m`. `given`: the text with its source, for the
/// weft::error that this throws for a text that has another form.
std::vector<double> parse_speeds(std::string_view text, std::string_view given, const machine& m);

} // namespace weft::api
