#pragma once

#include "runtime/current.hpp"

namespace weft::openmp {

/// The context of the calling kernel thread as an initial thread of OpenMP (5.1, 1.3): the program's main thread, its other
/// threads, and workers in tasks of Weft that are not of OpenMP. It is made at its first use.
context& initial_context() noexcept;
/// The same if it has been made, else null.
context* known_initial_context() noexcept;
/// How many threads had one before that of the caller.
unsigned number_of_initial_thread() noexcept;

} // namespace weft::openmp
