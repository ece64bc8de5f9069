#pragma once

#include <cstddef>
#include <cstdint>

/// Memory of OpenMP's allocators. There is one kind of memory here; of an allocator's traits, alignment, the size of its pool and
/// the fallback are respected.
namespace weft::openmp {

/// As omp_alloctrait_t.
struct allocator_trait {
    int key;
    std::uintptr_t value;
};

/// 0 (omp_null_allocator) if the traits contradict each other.
std::uintptr_t make_allocator(std::uintptr_t space, int count, const allocator_trait*);
void free_allocator(std::uintptr_t) noexcept;

/// `allocator` 0: that of the calling task. Null if there is no memory, by the rules of the allocator.
void* allocate(std::size_t alignment, std::size_t size, std::uintptr_t allocator) noexcept;
void* allocate_zeroed(std::size_t alignment, std::size_t count, std::size_t size,
                      std::uintptr_t allocator) noexcept;
void* reallocate(void*, std::size_t size, std::uintptr_t allocator, std::uintptr_t of_old) noexcept;
void deallocate(void*) noexcept;

} // namespace weft::openmp
