#pragma once

#include "engine/worker/preemption_options.hpp"

#include <string_view>

namespace weft::api {

/// What `text` says, in the form of WEFT_PREEMPT. `given`: the text with its source, for the weft::error that this throws
/// for a text that has another form.
engine::preemption_options parse_preemption(std::string_view text, std::string_view given);

} // namespace weft::api
