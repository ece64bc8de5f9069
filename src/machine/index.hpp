#pragma once

#include <cstddef>

namespace weft {

/// The place in a list of what has a rank or a number, which is an int and not negative.
constexpr std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }

} // namespace weft
