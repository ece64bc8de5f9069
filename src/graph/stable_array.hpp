#pragma once

#include "graph/large_memory.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <sys/mman.h>

namespace weft {

/// An array that grows and whose elements keep their addresses. One thread at a time grows it; meanwhile
/// other threads may read the elements that they know to exist. Chunks double in size; unused memory is never
/// touched.
template <class T>
class stable_array {
public:
    /// `discards`: discard() will be called.
    explicit stable_array(bool discards = false) noexcept : discards_(discards) {}
    stable_array(const stable_array&) = delete;
    stable_array& operator=(const stable_array&) = delete;
    ~stable_array() {
        if constexpr (!std::is_trivially_destructible_v<T>)
            for (std::uint32_t i = 0; i < size_; ++i) std::destroy_at(&(*this)[i]);
        for (std::size_t c = 0; c < chunks_.size(); ++c)
            if (T* const chunk = chunks_[c].load(std::memory_order_relaxed))
                large_memory::release(chunk, bytes_of(c));
    }

    T& operator[](std::uint32_t i) noexcept {
        const std::uint32_t n = i + first;
        const int c = static_cast<int>(std::bit_width(n)) - first_bits;
        // relaxed: a thread that names an element got the number through a synchronization that comes after
        // grow()
        return chunks_[static_cast<std::size_t>(c)].load(
            std::memory_order_relaxed)[n - (first << static_cast<unsigned>(c))];
    }
    const T& operator[](std::uint32_t i) const noexcept { return const_cast<stable_array&>(*this)[i]; }

    std::uint32_t size() const noexcept { return size_; } ///< for the thread that grows it

    /// A new element at the end.
    T& grow() {
        const std::uint32_t n = size_ + first;
        const auto c = static_cast<std::size_t>(std::bit_width(n) - first_bits);
        if (!chunks_[c].load(std::memory_order_relaxed)) {
            void* const memory = large_memory::allocate(bytes_of(c), discards_);
            chunks_[c].store(static_cast<T*>(memory), std::memory_order_relaxed); // as in operator[]
        }
        T* const at = &(*this)[size_];
        ::new (static_cast<void*>(at)) T;
        ++size_;
        return *at;
    }
    void pop() noexcept {
        --size_;
        std::destroy_at(&(*this)[size_]);
    }

    /// Gives the whole pages of these elements back to the system. The elements lie in one chunk, are never
    /// used again and are not destroyed.
    void discard(std::uint32_t from, std::uint32_t count) noexcept {
        static_assert(std::is_trivially_destructible_v<T>);
        constexpr std::uintptr_t page = 4096;
        const auto begin = (reinterpret_cast<std::uintptr_t>(&(*this)[from]) + page - 1) / page * page;
        const auto end = reinterpret_cast<std::uintptr_t>(&(*this)[from + count - 1] + 1) / page * page;
        if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    }

    static constexpr std::uint32_t first_chunk =
        256; ///< elements of the first chunk; each other one has twice as many

private:
    static_assert(alignof(T) <= static_cast<std::size_t>(large_memory::alignment));
    static constexpr std::uint32_t first = first_chunk;
    static constexpr int first_bits = std::bit_width(first);

    static std::size_t bytes_of(std::size_t chunk) noexcept {
        return sizeof(T) * (std::size_t{first} << chunk);
    }

    std::array<std::atomic<T*>, 32 - first_bits + 1> chunks_{};
    std::uint32_t size_ = 0;
    const bool discards_;
};

} // namespace weft
