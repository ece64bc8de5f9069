#include "sort/vector_sort.hpp"

#include <boost/sort/pdqsort/pdqsort.hpp>
#include <hwy/contrib/sort/vqsort.h>
#include <hwy/targets.h>

namespace weft::sort {
namespace {

template <class Key>
void sort_by_best_target(Key* keys, std::size_t n) {
    const hwy::Sorter sorter;
    sorter(keys, n, hwy::SortAscending());
}

#if HWY_ARCH_X86
/// Where vqsort of this library is the slower one; docs/decisions/010-sorting.md has the figures.
struct weaknesses {
    bool of_16_bits; ///< no instruction compresses 16-bit lanes
    /// Zen 4 takes over a hundred cycles to store the lanes that a mask selects, which is how vqsort
    /// partitions 32-bit keys under AVX-512: 8 times slower than under AVX2. Highway knows of it from 1.0.4
    /// on, and as it does, we assume the same of AMD's later ones.
    bool of_32_bits;
    bool of_64_bits; ///< two lanes are too few

    weaknesses() noexcept {
        const auto has = [best = hwy::SupportedTargets()](std::int64_t targets) {
            return (best & targets) != 0;
        };
        constexpr auto avx512 = HWY_AVX3 | HWY_AVX3_DL;
        of_16_bits = !has(HWY_AVX3_DL);
        of_32_bits = __builtin_cpu_is("amd") && has(avx512) && has(HWY_AVX2);
        of_64_bits = !has(HWY_AVX2 | avx512);
    }
    static const weaknesses& known() noexcept {
        static const weaknesses found; // asking the processor takes microseconds in a virtual machine
        return found;
    }
};
#endif

} // namespace

void sort_vectorised(std::uint16_t* keys, std::size_t n) noexcept {
#if HWY_ARCH_X86
    if (weaknesses::known().of_16_bits) return boost::sort::pdqsort(keys, keys + n);
#endif
    sort_by_best_target(keys, n);
}

void sort_vectorised(std::uint32_t* keys, std::size_t n) noexcept {
#if HWY_ARCH_X86
    if (weaknesses::known().of_32_bits) return sort_by_avx2(keys, n);
#endif
    sort_by_best_target(keys, n);
}

void sort_vectorised(std::uint64_t* keys, std::size_t n) noexcept {
#if HWY_ARCH_X86
    if (weaknesses::known().of_64_bits) return boost::sort::pdqsort(keys, keys + n);
#endif
    sort_by_best_target(keys, n);
}

} // namespace weft::sort
