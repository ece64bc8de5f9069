// T. A. Welch: A technique for high-performance data compression. Computer 17(6), 1984. Codes of 12 bits; when the table is
// full, coder and decoder begin a new one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace examples {

inline constexpr std::uint32_t lzw_codes = 1U << 12;
inline constexpr std::uint32_t lzw_first = 256; // the codes below stand for themselves

// The strings of the coder: each is an earlier string and one more byte.
class lzw_table {
public:
    lzw_table() { clear(); }

    void clear() {
        entries_.fill(0);
        next_ = lzw_first;
    }

    // The code of the string `prefix` + `byte`; 0 if there is none.
    std::uint32_t find(std::uint32_t prefix, std::uint8_t byte) const {
        const std::uint32_t key = key_of(prefix, byte);
        for (std::uint32_t i = slot(key); entries_[i] != 0; i = (i + 1) % slots)
            if (entries_[i] >> 12 == key) return entries_[i] & (lzw_codes - 1);
        return 0;
    }

    void add(std::uint32_t prefix, std::uint8_t byte) {
        if (next_ == lzw_codes) return clear();
        const std::uint32_t key = key_of(prefix, byte);
        std::uint32_t i = slot(key);
        while (entries_[i] != 0) i = (i + 1) % slots;
        entries_[i] = key << 12 | next_++;
    }

private:
    static constexpr std::uint32_t slots = 2 * lzw_codes;
    static std::uint32_t key_of(std::uint32_t prefix, std::uint8_t byte) { return prefix << 8 | byte; }
    static std::uint32_t slot(std::uint32_t key) { return key * 2654435769U >> 19; }

    std::array<std::uint32_t, slots> entries_; // a key of 20 bits and its code; 0: free
    std::uint32_t next_;
};

inline std::vector<std::uint16_t> lzw_compress(std::span<const std::uint8_t> text) {
    std::vector<std::uint16_t> codes;
    if (text.empty()) return codes;
    codes.reserve(text.size());
    lzw_table table;
    std::uint32_t prefix = text[0];
    for (const std::uint8_t byte : text.subspan(1)) {
        if (const std::uint32_t longer = table.find(prefix, byte)) {
            prefix = longer;
            continue;
        }
        codes.push_back(static_cast<std::uint16_t>(prefix));
        table.add(prefix, byte);
        prefix = byte;
    }
    codes.push_back(static_cast<std::uint16_t>(prefix));
    return codes;
}

inline std::vector<std::uint8_t> lzw_expand(std::span<const std::uint16_t> codes) {
    struct string {
        std::size_t from, size; // in the text so far
    };
    std::vector<std::uint8_t> text;
    std::vector<string> strings(lzw_codes);
    std::uint32_t next = lzw_first;
    string last{0, 0};
    for (const std::uint16_t code : codes) {
        const std::size_t at = text.size();
        if (last.size > 0) { // the coder has added the last string and the first byte of this one
            if (next == lzw_codes)
                next = lzw_first;
            else
                strings[next++] = {last.from, last.size + 1};
        }
        if (code >= lzw_first && code >= next) throw std::runtime_error("a code that stands for nothing");
        const string s = code < lzw_first ? string{at, 1} : strings[code];
        if (code < lzw_first)
            text.push_back(static_cast<std::uint8_t>(code));
        else
            for (std::size_t i = 0; i < s.size; ++i) text.push_back(text[s.from + i]);
        last = {at, s.size};
    }
    return text;
}

} // namespace examples
