// vqsort for AVX2 alone, out of Highway's headers: its library has it too, but chooses by itself.
#include <hwy/detect_targets.h>

#if HWY_ARCH_X86
// Highway includes this file once for each target that is left; the one without vectors cannot be left out.
#    undef HWY_DISABLED_TARGETS
#    define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#    undef HWY_TARGET_INCLUDE
#    define HWY_TARGET_INCLUDE "sort/vector_sort_avx2.cpp"
#    include <hwy/foreach_target.h>
// After foreach_target.h, once a target.
#    include <hwy/contrib/sort/traits-inl.h>
#    include <hwy/contrib/sort/vqsort-inl.h>
#    include <hwy/highway.h>

#    include "sort/vector_sort.hpp"

HWY_BEFORE_NAMESPACE();
#    if HWY_TARGET == HWY_AVX2
namespace weft::sort {

void sort_by_avx2(std::uint32_t* keys, std::size_t n) noexcept {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::detail::SharedTraits<hn::detail::TraitsLane<hn::detail::OrderAscending<std::uint32_t>>> traits;
    // Scratch for vectors whose length the compiler does not know; here it uses its own stack.
    hn::Sort(hn::SortTag<std::uint32_t>(), traits, keys, n, static_cast<std::uint32_t*>(nullptr));
}

} // namespace weft::sort
#    endif
HWY_AFTER_NAMESPACE();
#endif
