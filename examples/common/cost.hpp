// Declarations for an engine that models time and data. On real threads they are nothing.
//
// The constants `..._cycles_per_...` of the examples say what an element costs when its data are in the
// first-level cache. They were measured on one core of an AMD EPYC (Zen 4, gcc 12), compiled as the preset
// `release` does: nanoseconds an element, times the clock, 3.69 GHz, which a chain of dependent additions
// told. Where branches depend on the input it was drawn anew for each run, so that none is learnt by heart. Loops
// for which the compiler used vector instructions say work::vector, since not every machine's compiler does.
#pragma once

#include <weft/weft.hpp>

#include <cstddef>
#include <cstdint>

namespace examples {

// mix() of the result of the one before, see random.hpp.
inline constexpr double mix_cycles = 13;

// `count` elements cost so many cycles each.
inline void spend(std::size_t count, double cycles_each, weft::work kind = weft::work::general) {
    weft::cost(static_cast<std::uint64_t>(static_cast<double>(count) * cycles_each), kind);
}

// False with --costs-only: kernels declare what they touch and cost, and compute nothing. For programs whose
// tasks do not depend on the values that they compute.
inline bool kernels_compute = true;

// `kernel` computes `count` elements, which cost so many cycles each.
template <class Kernel>
void spend(std::size_t count, double cycles_each, weft::work kind, const Kernel& kernel) {
    spend(count, cycles_each, kind);
    if (kernels_compute) kernel();
}
template <class Kernel>
void spend(std::size_t count, double cycles_each, const Kernel& kernel) {
    spend(count, cycles_each, weft::work::general, kernel);
}

// A block of a matrix: `lines` lines of `n` adjacent elements, one every `stride` elements.
template <class Value>
void touch_block(const Value* corner, std::size_t lines, std::size_t n, std::size_t stride,
                 weft::access how) {
    for (std::size_t i = 0; i < lines; ++i) weft::touch(corner + i * stride, n * sizeof(Value), how);
}

} // namespace examples
