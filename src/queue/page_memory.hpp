// Memory directly from the kernel, for structures that grow where malloc may not be called.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace weft::queue {

// The allocator hook of the growing structures: zeroed pages, never malloc.
struct page_memory {
    // Null if there is no memory.
    static void* allocate(std::size_t bytes) noexcept {
        void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return at == MAP_FAILED ? nullptr : at;
    }

    static void release(void* at, std::size_t bytes) noexcept { ::munmap(at, bytes); }
};

} // namespace weft::queue
