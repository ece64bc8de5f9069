#pragma once

#include <cstddef>

namespace weft::queue {

/// Words written by different threads are kept this far apart.
inline constexpr std::size_t k_cache_line_bytes = 64;

} // namespace weft::queue
