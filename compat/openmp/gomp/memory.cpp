#include "runtime/allocators.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

/// The allocate clause and directive, and the error directive.
using namespace weft::openmp;

extern "C" {

void* GOMP_alloc(std::size_t alignment, std::size_t size, std::uintptr_t allocator) {
    void* const p = allocate(alignment, size, allocator);
    if (!p && size > 0) {
        std::fprintf(stderr, "weft: OpenMP: out of memory allocating %zu bytes\n", size);
        std::exit(EXIT_FAILURE);
    }
    return p;
}
void GOMP_free(void* p, std::uintptr_t) { deallocate(p); }

void GOMP_warning(const char* text, std::size_t length) {
    if (text)
        std::fprintf(stderr, "\nlibgomp: error directive encountered: %.*s\n",
                     static_cast<int>(length == ~std::size_t{0} ? __builtin_strlen(text) : length), text);
    else
        std::fputs("\nlibgomp: error directive encountered\n", stderr);
}
void GOMP_error(const char* text, std::size_t length) {
    if (text)
        std::fprintf(stderr, "\nlibgomp: fatal error: error directive encountered: %.*s\n",
                     static_cast<int>(length == ~std::size_t{0} ? __builtin_strlen(text) : length), text);
    else
        std::fputs("\nlibgomp: fatal error: error directive encountered\n", stderr);
    std::exit(EXIT_FAILURE);
}

} // extern "C"
