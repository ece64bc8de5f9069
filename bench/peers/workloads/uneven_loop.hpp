// A loop whose i-th iteration takes i steps: half of the work is in the last 30 % of the range.
#pragma once

#include "needs.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace peers {

struct uneven_loop {
    static constexpr std::string_view name = "uneven_loop", needs = "loops";
    static constexpr int size = 10'000, warm = 500;
    static constexpr bool is_loop = true;

    explicit uneven_loop(int n) : out(static_cast<std::size_t>(n)) {}

    static std::uint64_t after(int steps) { return after(steps, static_cast<std::uint64_t>(steps) + 1); }
    static std::uint64_t after(int steps, std::uint64_t x) {
        for (int k = 0; k < steps; ++k) { // xorshift: no compiler knows a shorter way
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        return x;
    }

    template <loops Strand>
    void run(Strand here) {
        std::uint64_t* const to = out.data();
        here.uneven_loop(0, static_cast<int>(out.size()), [to](int i) { to[i] = after(i); });
    }
    bool is_right() const {
        for (std::size_t i = 0; i < out.size(); i += 97)
            if (out[i] != after(static_cast<int>(i))) return false;
        return true;
    }

    std::vector<std::uint64_t> out;
};

} // namespace peers
