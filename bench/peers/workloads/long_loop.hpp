// One long loop of short bodies: two bytes an element.
#pragma once

#include "needs.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace peers {

struct long_loop {
    static constexpr std::string_view name = "long_loop", needs = "loops";
    static constexpr int size = 100'000'000, warm = 100'000;
    static constexpr bool is_loop = true;

    explicit long_loop(int n) : out(static_cast<std::size_t>(n), 1) {}

    static std::uint16_t value_of(std::uint32_t i) { // some work, no branch
        i ^= i >> 15;
        i *= 0x2c1b3c6dU;
        i ^= i >> 12;
        return static_cast<std::uint16_t>(i);
    }

    template <loops Strand>
    void run(Strand here) {
        std::uint16_t* const to = out.data();
        here.loop(0, static_cast<int>(out.size()),
                  [to](int i) { to[i] = value_of(static_cast<std::uint32_t>(i)); });
    }
    bool is_right() const {
        for (std::size_t i = 0; i < out.size(); ++i)
            if (out[i] != value_of(static_cast<std::uint32_t>(i))) return false;
        return true;
    }

    std::vector<std::uint16_t> out;
};

} // namespace peers
