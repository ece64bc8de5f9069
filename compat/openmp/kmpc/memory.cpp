#include "kmpc/kmpc.hpp"
#include "runtime/allocators.hpp"
#include "runtime/privates.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

/// The allocate clause, allocators as data, kmp_malloc and its like, and threadprivate data.
using namespace weft::openmp;
using namespace weft::openmp::kmpc;

extern "C" {

// omp.h of clang has these as constants, other headers as variables.
extern const std::uintptr_t omp_null_allocator = 0, omp_default_mem_alloc = 1, omp_large_cap_mem_alloc = 2,
                            omp_const_mem_alloc = 3, omp_high_bw_mem_alloc = 4, omp_low_lat_mem_alloc = 5,
                            omp_cgroup_mem_alloc = 6, omp_pteam_mem_alloc = 7, omp_thread_mem_alloc = 8,
                            kmp_max_mem_alloc = 1024;
extern const std::uintptr_t omp_default_mem_space = 0, omp_large_cap_mem_space = 1, omp_const_mem_space = 2,
                            omp_high_bw_mem_space = 3, omp_low_lat_mem_space = 4;

void omp_set_default_allocator(std::uintptr_t);
std::uintptr_t omp_get_default_allocator();

std::uintptr_t __kmpc_init_allocator(gtid, std::uintptr_t space, int count, const allocator_trait* traits) {
    return make_allocator(space, count, traits);
}
void __kmpc_destroy_allocator(gtid, std::uintptr_t a) { free_allocator(a); }
void __kmpc_set_default_allocator(gtid, std::uintptr_t a) { omp_set_default_allocator(a); }
std::uintptr_t __kmpc_get_default_allocator(gtid) { return omp_get_default_allocator(); }
void* __kmpc_alloc(gtid, std::size_t bytes, std::uintptr_t a) { return allocate(1, bytes, a); }
void* __kmpc_aligned_alloc(gtid, std::size_t alignment, std::size_t bytes, std::uintptr_t a) {
    return allocate(alignment, bytes, a);
}
void* __kmpc_calloc(gtid, std::size_t count, std::size_t bytes, std::uintptr_t a) {
    return allocate_zeroed(1, count, bytes, a);
}
void* __kmpc_realloc(gtid, void* p, std::size_t bytes, std::uintptr_t a, std::uintptr_t of_old) {
    return reallocate(p, bytes, a, of_old);
}
void __kmpc_free(gtid, void* p, std::uintptr_t) { deallocate(p); }

// Intel's functions, under their names for C, for Fortran, and for Fortran with C's conventions.
#define WEFT_MEMORY(prefix)                                                                                  \
    void* prefix##_malloc(std::size_t n) { return std::malloc(n); }                                          \
    void* prefix##_aligned_malloc(std::size_t n, std::size_t alignment) {                                    \
        void* p = nullptr;                                                                                   \
        return posix_memalign(&p, alignment, n) == 0 ? p : nullptr;                                          \
    }                                                                                                        \
    void* prefix##_calloc(std::size_t count, std::size_t n) { return std::calloc(count, n); }                \
    void* prefix##_realloc(void* p, std::size_t n) { return std::realloc(p, n); }                            \
    void prefix##_free(void* p) { std::free(p); }
WEFT_MEMORY(kmp)
WEFT_MEMORY(kmpc)
void* kmp_malloc_(const std::size_t* n) { return kmp_malloc(*n); }
void* kmp_aligned_malloc_(const std::size_t* n, const std::size_t* alignment) {
    return kmp_aligned_malloc(*n, *alignment);
}
void* kmp_calloc_(const std::size_t* count, const std::size_t* n) { return kmp_calloc(*count, *n); }
void* kmp_realloc_(void** p, const std::size_t* n) { return kmp_realloc(*p, *n); }
void kmp_free_(void** p) { kmp_free(*p); }

// ---- threadprivate

void __kmpc_threadprivate_register(location*, void* original, void* (*construct)(void*),
                                   void* (*)(void*, void*), void (*destroy)(void*)) {
    register_privates(original, {.construct = construct, .destroy = destroy});
}
void __kmpc_threadprivate_register_vec(location*, void* original, void* (*construct)(void*, std::size_t),
                                       void* (*)(void*, void*, std::size_t),
                                       void (*destroy)(void*, std::size_t), std::size_t elements) {
    register_privates(original,
                      {.construct_elements = construct, .destroy_elements = destroy, .elements = elements});
}
void* __kmpc_threadprivate(location*, gtid, void* original, std::size_t bytes) {
    return private_copy(current_region(), original, bytes);
}
/// The cache is for runtimes whose threads have the numbers that the compiled code has.
void* __kmpc_threadprivate_cached(location*, gtid, void* original, std::size_t bytes, void***) {
    return private_copy(current_region(), original, bytes);
}

} // extern "C"
