#pragma once

#include "task/sanitizers.hpp"

namespace weft::test {

// Under a sanitizer tests take smaller cases. They are smallest under ThreadSanitizer, for which each fiber
// costs a megabyte.
#ifdef WEFT_TSAN
inline constexpr bool thread_sanitized = true;
#else
inline constexpr bool thread_sanitized = false;
#endif
#ifdef WEFT_ASAN
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = thread_sanitized;
#endif

} // namespace weft::test
