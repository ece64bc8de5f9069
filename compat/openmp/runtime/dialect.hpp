#pragma once

/// OpenMP leaves details to each library (defaults, the text of messages, when the environment is read), and programs come to rely on
/// those of the one that they were linked with.
namespace weft::openmp {

enum class dialect {
    gomp, ///< libgomp
    kmp   ///< libomp, libiomp5
};

/// That of the process: `kmp` if a library with the name of libomp or libiomp5 is loaded, be it Weft's, or the original beside the
/// form for LD_PRELOAD.
dialect dialect_of_process() noexcept;

inline bool speaks_kmp() noexcept { return dialect_of_process() == dialect::kmp; }

} // namespace weft::openmp
