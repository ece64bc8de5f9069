#pragma once

#include "engine/threads/core_lending.hpp"
#include "machine/machine.hpp"

#include <string_view>

namespace weft::api {

/// What `text` says, in the form of WEFT_LEND, for workers on the cores of `own`, this computer's. Nothing is lent if a runtime of
/// this process does so already. `given`: the text with its source, for the weft::error that this throws for a text that has
/// another form.
engine::lending_options parse_lending(std::string_view text, std::string_view given, const machine& own);

} // namespace weft::api
