// G. V. Cormack, R. N. S. Horspool: Data compression using dynamic Markov modelling. The Computer Journal 30(6), 1987.
// A machine whose states predict the next bit; states that are reached often in different ways are split. An
// arithmetic coder of 32 bits writes what is predicted. When there are too many states, a new machine begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace examples {

class markov_machine {
public:
    static constexpr std::size_t most_states = 1U << 16;

    markov_machine() {
        states_.reserve(most_states);
        begin();
    }

    // Of 65536, how likely the next bit is 1.
    std::uint32_t likely() const {
        const state& s = states_[at_];
        const float one = s.seen[1] / (s.seen[0] + s.seen[1]);
        const auto p = static_cast<std::uint32_t>(one * 65536);
        return p < 1 ? 1 : p > 65535 ? 65535 : p;
    }

    void next(bool bit) {
        state& s = states_[at_];
        const std::uint32_t target = s.to[bit];
        const float here = s.seen[bit], all = states_[target].seen[0] + states_[target].seen[1];
        if (here > splits_from && all - here > splits_from) {
            if (states_.size() == most_states) return begin();
            split(bit, here / all);
        }
        states_[at_].seen[bit] += 1;
        at_ = states_[at_].to[bit];
    }

private:
    static constexpr float splits_from = 2;
    struct state {
        std::uint32_t to[2];
        float seen[2];
    };

    // A tree of the bits of a byte, from whose leaves the machine returns to the root.
    void begin() {
        states_.clear();
        for (std::uint32_t i = 0; i < 255; ++i) {
            const std::uint32_t left = 2 * i + 1;
            states_.push_back({{left < 255 ? left : 0, left < 255 ? left + 1 : 0}, {0.2F, 0.2F}});
        }
        at_ = 0;
    }

    // The target's way from here becomes a state of its own, which takes its part of what the target has seen.
    void split(bool bit, float part) {
        state& old = states_[states_[at_].to[bit]];
        state made = old;
        for (int b = 0; b < 2; ++b) {
            made.seen[b] = old.seen[b] * part;
            old.seen[b] -= made.seen[b];
        }
        states_[at_].to[bit] = static_cast<std::uint32_t>(states_.size());
        states_.push_back(made); // there is room
    }

    std::vector<state> states_;
    std::uint32_t at_ = 0;
};

// The interval of the arithmetic coder, in which the part of a 1 comes first.
struct coder_interval {
    std::uint32_t low = 0, high = 0xffffffff;

    std::uint32_t middle(std::uint32_t likely) const {
        return low + static_cast<std::uint32_t>((static_cast<std::uint64_t>(high - low) * likely) >> 16);
    }
    void choose(bool bit, std::uint32_t middle) { bit ? high = middle : low = middle + 1; }
    bool first_byte_is_known() const { return ((low ^ high) & 0xff000000) == 0; }
    void shift() {
        low <<= 8;
        high = high << 8 | 0xff;
    }
};

inline std::vector<std::uint8_t> dmc_compress(std::span<const std::uint8_t> text) {
    std::vector<std::uint8_t> out;
    markov_machine machine;
    coder_interval in;
    for (const std::uint8_t byte : text) {
        for (int i = 7; i >= 0; --i) {
            const bool bit = (byte >> i & 1) != 0;
            in.choose(bit, in.middle(machine.likely()));
            machine.next(bit);
            for (; in.first_byte_is_known(); in.shift())
                out.push_back(static_cast<std::uint8_t>(in.high >> 24));
        }
    }
    for (int i = 0; i < 4; ++i, in.shift()) out.push_back(static_cast<std::uint8_t>(in.low >> 24));
    return out;
}

inline std::vector<std::uint8_t> dmc_expand(std::span<const std::uint8_t> coded, std::size_t size) {
    std::vector<std::uint8_t> text;
    markov_machine machine;
    coder_interval in;
    std::size_t read = 0;
    std::uint32_t value = 0;
    const auto take = [&] { value = value << 8 | (read < coded.size() ? coded[read] : 0U), ++read; };
    for (int i = 0; i < 4; ++i) take();
    while (text.size() < size) {
        unsigned byte = 0;
        for (int i = 0; i < 8; ++i) {
            const std::uint32_t middle = in.middle(machine.likely());
            const bool bit = value <= middle;
            in.choose(bit, middle);
            machine.next(bit);
            byte = byte << 1 | (bit ? 1U : 0U);
            for (; in.first_byte_is_known(); in.shift()) take();
        }
        text.push_back(static_cast<std::uint8_t>(byte));
    }
    return text;
}

} // namespace examples
