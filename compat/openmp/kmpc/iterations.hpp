#pragma once

#include "kmpc/kmpc.hpp"
#include "runtime/team.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

/// Loops as clang's code describes them: the first value, the last one, which belongs to the loop, and a step.
namespace weft::openmp::kmpc {

/// How clang names schedules. An ordered one has 32 more, one whose iterations are not to be merged 128 more.
enum schedule : std::int32_t {
    static_chunked = 33,
    static_blocks = 34,
    dynamic_chunked = 35,
    guided_chunked = 36,
    runtime_chosen = 37,
    automatic = 38,
    trapezoidal = 39,
    static_greedy = 40,
    static_balanced = 41,
    guided_iterative = 42,
    guided_analytical = 43,
    static_steal = 44,
    static_balanced_chunked = 45,
    guided_simd = 46,
    runtime_simd = 47,
    distribute_chunked = 91,
    distribute_blocks = 92,
};

struct schedule_name {
    schedule how;
    bool is_ordered;
};

inline schedule_name plain(std::int32_t given) noexcept {
    constexpr std::int32_t monotonic = 1 << 29, nonmonotonic = 1 << 30, not_merged = 128, ordered = 32;
    std::int32_t s = given & ~(monotonic | nonmonotonic);
    if (s > 160) s -= not_merged;
    const bool is_ordered = s > 64 && s < distribute_chunked;
    return {static_cast<schedule>(is_ordered ? s - ordered : s), is_ordered};
}

/// The number of iterations: 0 to 2^64 - 1.
template <class T>
std::uint64_t count_of(T lower, T upper, std::make_signed_t<T> step) noexcept {
    using u = unsigned_of<T>;
    if (step == 0) {
        std::fputs("weft: OpenMP: a loop has the step 0; allowed: all other numbers\n", stderr);
        std::abort();
    }
    if (step > 0)
        return lower > upper ? 0
                             : std::uint64_t{static_cast<u>(static_cast<u>(upper) - static_cast<u>(lower))} /
                                       static_cast<u>(step) +
                                   1;
    return lower < upper ? 0
                         : std::uint64_t{static_cast<u>(static_cast<u>(lower) - static_cast<u>(upper))} /
                                   static_cast<u>(0 - static_cast<u>(step)) +
                               1;
}

/// The value of the loop variable in that iteration, modulo the width.
template <class T>
T value_at(T lower, std::make_signed_t<T> step, std::uint64_t i) noexcept {
    using u = unsigned_of<T>;
    return static_cast<T>(static_cast<u>(static_cast<u>(lower) + static_cast<u>(i) * static_cast<u>(step)));
}

/// Iterations begin to end; empty if begin == end.
struct part {
    std::uint64_t begin, end;
};

/// The block of one of `parts`: their sizes differ by 1 at most, the first ones are larger.
inline part block_of(std::uint64_t n, std::uint64_t parts, std::uint64_t which) noexcept {
    const std::uint64_t each = n / parts, more = n % parts;
    const std::uint64_t begin = which * each + (which < more ? which : more);
    return {begin, begin + each + (which < more)};
}

} // namespace weft::openmp::kmpc
