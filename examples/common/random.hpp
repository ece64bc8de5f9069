// Seeded random numbers (SplitMix64's output function): the same on every platform.
#pragma once

#include <cstdint>

namespace examples {

constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

// So often, each of the result of the one before: work of a length that is known.
constexpr std::uint64_t mixed(std::uint64_t x, std::uint64_t times) {
    for (; times > 0; --times) x = mix(x);
    return x;
}

// The i-th number of the stream `seed`.
constexpr std::uint64_t random_at(std::uint64_t seed, std::uint64_t i) {
    return mix(mix(seed) + i * 0x9e3779b97f4a7c15);
}

// The same as a number from -1 to 1.
constexpr double random_from_minus_1_to_1(std::uint64_t seed, std::uint64_t i) {
    return static_cast<double>(random_at(seed, i) >> 11) * 0x1p-52 - 1;
}

} // namespace examples
