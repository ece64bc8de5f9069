// Many short loops one after the other: what it costs to start and to join one.
#pragma once

#include "needs.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace peers {

struct short_loops {
    static constexpr std::string_view name = "short_loops", needs = "loops";
    static constexpr int size = 5000, warm = 50;
    static constexpr bool is_loop = true;
    static constexpr int elements = 10'000;

    explicit short_loops(int given) : n(given) {}

    template <loops Strand>
    void run(Strand here) {
        int* const at = data.data();
        for (int k = 0; k < n; ++k) {
            here.loop(0, elements, [at](int i) { ++at[i]; });
            asm volatile("" : : "r"(at) : "memory"); // a loop is one, not a part of the next
        }
    }
    bool is_right() const {
        return std::all_of(data.begin(), data.end(), [&](int d) { return d == n; });
    }
    double nodes() const { return n; }

    int n;
    std::vector<int> data = std::vector<int>(elements);
};

} // namespace peers
