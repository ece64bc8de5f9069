#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace weft::api {

/// A whole number with us, ms or s, at most 10^9; nothing for another text.
std::optional<std::chrono::nanoseconds> parse_interval(std::string_view text);

} // namespace weft::api
