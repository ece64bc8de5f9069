#pragma once

#include "queue/page_memory.hpp"

#include <cstddef>
#include <new>

#include <sys/mman.h>

namespace weft {

/// Memory for arrays that may be large. Large arrays lie in huge pages where the system has them: a page
/// fault every 64 tasks would cost more than making the tasks, and so would the misses of the address
/// translation.
struct large_memory {
    static constexpr std::size_t huge_page = std::size_t{2} << 20;

    /// Throws std::bad_alloc. `piecemeal`: pages are given back one by one, so they stay small.
    static void* allocate(std::size_t bytes, bool piecemeal = false) {
        if (bytes < huge_page) return ::operator new(bytes, alignment);
        void* const memory = queue::page_memory::allocate(bytes);
        if (!memory) throw std::bad_alloc();
        if (!piecemeal) madvise(memory, bytes, MADV_HUGEPAGE); // a hint
        return memory;
    }
    static void release(void* memory, std::size_t bytes) noexcept {
        if (bytes < huge_page)
            ::operator delete(memory, alignment);
        else
            queue::page_memory::release(memory, bytes);
    }

    static constexpr std::align_val_t alignment{64};
};

/// The allocator of large_memory for containers of the standard library.
template <class T>
struct large_allocator {
    using value_type = T;

    large_allocator() noexcept = default;
    template <class U>
    large_allocator(const large_allocator<U>&) noexcept {}

    T* allocate(std::size_t n) { return static_cast<T*>(large_memory::allocate(n * sizeof(T))); }
    void deallocate(T* at, std::size_t n) noexcept { large_memory::release(at, n * sizeof(T)); }

    friend bool operator==(large_allocator, large_allocator) noexcept { return true; }
};

} // namespace weft
