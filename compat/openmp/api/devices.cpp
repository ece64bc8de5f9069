#include "runtime/allocators.hpp"
#include "runtime/current.hpp"
#include "runtime/region.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

/// omp_*: devices and memory. There is no device but the host, whose number is 0, the number of devices.
using namespace weft::openmp;

namespace {

constexpr int host = 0;

/// Copies a box: `dimensions` of them, sizes and offsets in elements.
void copy_box(char* to, const char* from, std::size_t element, int dimensions, const std::size_t* volume,
              const std::size_t* to_offset, const std::size_t* from_offset, const std::size_t* to_size,
              const std::size_t* from_size) {
    if (dimensions == 1) {
        std::memcpy(to + to_offset[0] * element, from + from_offset[0] * element, volume[0] * element);
        return;
    }
    std::size_t to_row = element, from_row = element;
    for (int i = 1; i < dimensions; ++i) {
        to_row *= to_size[i];
        from_row *= from_size[i];
    }
    for (std::size_t i = 0; i < volume[0]; ++i)
        copy_box(to + (to_offset[0] + i) * to_row, from + (from_offset[0] + i) * from_row, element,
                 dimensions - 1, volume + 1, to_offset + 1, from_offset + 1, to_size + 1, from_size + 1);
}

} // namespace

extern "C" {

void omp_set_default_device(int n) { current_region().icv.default_device = n < 0 ? 0 : n; }
int omp_get_default_device() { return current_region().icv.default_device; }
int omp_get_num_devices() { return 0; }
int omp_get_device_num() { return host; }
int omp_get_initial_device() { return host; }
int omp_is_initial_device() { return 1; }

void* omp_target_alloc(std::size_t bytes, int device) {
    return device == host ? std::malloc(bytes) : nullptr;
}
void omp_target_free(void* p, int device) {
    if (device == host) std::free(p);
}
int omp_target_is_present(const void* p, int device) { return p == nullptr || device == host; }
int omp_target_memcpy(void* to, const void* from, std::size_t bytes, std::size_t to_offset,
                      std::size_t from_offset, int to_device, int from_device) {
    if (to_device != host || from_device != host) return EINVAL;
    std::memcpy(static_cast<char*>(to) + to_offset, static_cast<const char*>(from) + from_offset, bytes);
    return 0;
}
int omp_target_memcpy_rect(void* to, const void* from, std::size_t element, int dimensions,
                           const std::size_t* volume, const std::size_t* to_offset,
                           const std::size_t* from_offset, const std::size_t* to_size,
                           const std::size_t* from_size, int to_device, int from_device) {
    if (!to && !from) return 0x7fff'ffff; // how many dimensions are supported
    if (to_device != host || from_device != host || dimensions < 1) return EINVAL;
    copy_box(static_cast<char*>(to), static_cast<const char*>(from), element, dimensions, volume, to_offset,
             from_offset, to_size, from_size);
    return 0;
}
int omp_target_associate_ptr(const void*, const void*, std::size_t, std::size_t, int) { return EINVAL; }
int omp_target_disassociate_ptr(const void*, int) { return EINVAL; }

// ---- allocators

std::uintptr_t omp_init_allocator(std::uintptr_t space, int count, const void* traits) {
    return make_allocator(space, count, static_cast<const allocator_trait*>(traits));
}
void omp_destroy_allocator(std::uintptr_t a) { free_allocator(a); }
void omp_set_default_allocator(std::uintptr_t a) { current_region().icv.allocator = a ? a : 1; }
std::uintptr_t omp_get_default_allocator() { return current_region().icv.allocator; }
void* omp_alloc(std::size_t bytes, std::uintptr_t a) { return allocate(1, bytes, a); }
void* omp_aligned_alloc(std::size_t alignment, std::size_t bytes, std::uintptr_t a) {
    return allocate(alignment, bytes, a);
}
void* omp_calloc(std::size_t count, std::size_t bytes, std::uintptr_t a) {
    return allocate_zeroed(1, count, bytes, a);
}
void* omp_aligned_calloc(std::size_t alignment, std::size_t count, std::size_t bytes, std::uintptr_t a) {
    return allocate_zeroed(alignment, count, bytes, a);
}
void* omp_realloc(void* p, std::size_t bytes, std::uintptr_t a, std::uintptr_t of_old) {
    return reallocate(p, bytes, a, of_old);
}
void omp_free(void* p, std::uintptr_t) { deallocate(p); }

} // extern "C"
