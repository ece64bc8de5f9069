#pragma once

#include "trace/write/names.hpp"

#include <cstdint>
#include <string>

namespace weft::trace {

/// Where an address of code lies, in terms that still mean something when the process has ended.
struct code_place {
    std::string
        module{}; ///< the file of the program or of the shared library; empty: the address lies in none
    std::string build_id{}; ///< hexadecimal; empty: the file has none
    std::uint64_t offset =
        0; ///< from where the module was loaded, as its symbols count; without a module, the address
};

/// Asks the loader, so the module must still be loaded. Throws std::bad_alloc.
code_place place_of(code_address);

} // namespace weft::trace
