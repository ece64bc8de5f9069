#include "runtime/dialect.hpp"

#include <cstddef>
#include <string_view>

#include <link.h>

namespace weft::openmp {

namespace {

int is_kmp(dl_phdr_info* of, std::size_t, void*) {
    std::string_view name(of->dlpi_name ? of->dlpi_name : "");
    name.remove_prefix(name.rfind('/') + 1); // npos + 1 == 0
    return name.starts_with("libomp.so") || name.starts_with("libiomp5.so");
}

} // namespace

dialect dialect_of_process() noexcept {
    static const dialect found = dl_iterate_phdr(is_kmp, nullptr) ? dialect::kmp : dialect::gomp;
    return found;
}

} // namespace weft::openmp
