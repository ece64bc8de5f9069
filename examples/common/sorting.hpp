// Inputs and checks of the sorting examples.
#pragma once

#include "cost.hpp"
#include "random.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace examples {

inline constexpr double make_cycles_per_key = 4.7;

inline constexpr std::string_view key_orders[] = {"random", "few", "sorted", "reversed"};

// `few` has sixteen different keys, so it has many equal ones.
inline std::vector<std::uint64_t> make_keys(std::size_t n, std::string_view order, std::uint64_t seed) {
    std::vector<std::uint64_t> keys(n);
    weft::touch(keys.data(), n * sizeof(std::uint64_t), weft::access::write);
    spend(n, make_cycles_per_key);
    for (std::size_t i = 0; i < n; ++i) {
        if (order == "random") {
            keys[i] = random_at(seed, i);
        } else if (order == "few") {
            keys[i] = random_at(seed, i) % 16;
        } else if (order == "sorted") {
            keys[i] = i;
        } else if (order == "reversed") {
            keys[i] = n - i;
        } else {
            throw std::invalid_argument("unknown order of keys: " + std::string(order));
        }
    }
    return keys;
}

// The same for every order of the same elements.
struct multiset_hash {
    std::uint64_t sum = 0, product = 1;
    bool operator==(const multiset_hash&) const = default;
};

inline multiset_hash hash_multiset(const std::vector<std::uint64_t>& values) {
    multiset_hash h;
    for (std::uint64_t v : values) {
        h.sum += mix(v);
        h.product *= mix(v) | 1;
    }
    return h;
}

} // namespace examples
