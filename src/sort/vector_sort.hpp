#pragma once

#include <cstddef>
#include <cstdint>

/// Sorting of unsigned keys in memory, ascending, by vector instructions where this processor has some that
/// are worth it: Highway's vqsort, a vectorised quicksort (Blacher, Giesen, Sanders, Wassenberg 2021). On the
/// stack it takes less than 16 KB and allocates nothing.
namespace weft::sort {

void sort_vectorised(std::uint16_t* keys, std::size_t n) noexcept;
void sort_vectorised(std::uint32_t* keys, std::size_t n) noexcept;
void sort_vectorised(std::uint64_t* keys, std::size_t n) noexcept;

/// vqsort compiled for AVX2, whatever else the processor has.
void sort_by_avx2(std::uint32_t* keys, std::size_t n) noexcept;

} // namespace weft::sort
