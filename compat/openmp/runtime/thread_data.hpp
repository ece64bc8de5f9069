#pragma once

namespace weft::openmp {

/// Whether code that was compiled with OpenMP has thread-local variables, which gcc makes of threadprivate data as well. Such code is that
/// of the program and its libraries which need an OpenMP library. Found by the segments of the loaded objects, anew after a dlopen().
bool code_has_thread_data() noexcept;
/// The same of the program's own file alone.
bool program_has_thread_data() noexcept;

} // namespace weft::openmp
