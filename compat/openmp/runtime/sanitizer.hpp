#pragma once

#include "task/sanitizers.hpp"

/// Order that ThreadSanitizer is told of in programs that have it, where no event of a tool tells: turns of loops, memory of tasks that is used
/// again, what belongs to a seat.
namespace weft::openmp {

using sanitizer::happens_after;
using sanitizer::happens_before;

} // namespace weft::openmp
