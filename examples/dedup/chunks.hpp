// What a deduplicating archive is made of: pieces of the input cut by its content, their fingerprints, and the archive.
#pragma once

#include "../common/random.hpp"

#include <nettle/sha1.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace examples {

using bytes_view = std::span<const std::uint8_t>;
using fingerprint = std::array<std::uint8_t, SHA1_DIGEST_SIZE>;

// Where to cut: behind a byte at which the last 64 bytes, hashed, have `bits` zeros in front. So equal content is cut at
// equal places wherever it lies. (W. Xia et al.: Ddelta, Performance Evaluation 79, 2014: the Gear hash, one shift and one
// addition a byte.)
struct cutter {
    unsigned bits;
    std::size_t least, most;

    // The length of the first piece of `rest`, of which all of the input's end is there.
    std::size_t first_of(bytes_view rest) const {
        static const auto gear = [] {
            std::array<std::uint64_t, 256> table{};
            for (std::size_t i = 0; i < table.size(); ++i) table[i] = random_at(0xdedb, i);
            return table;
        }();
        const std::size_t end = std::min(most, rest.size());
        if (end <= least) return end;
        std::uint64_t hash = 0;
        for (std::size_t i = least > 64 ? least - 64 : 0; i < end; ++i) {
            hash = (hash << 1) + gear[rest[i]];
            if (i >= least && hash >> (64 - bits) == 0) return i + 1;
        }
        return end;
    }
};

inline constexpr cutter coarse_cutter{15, 32 * 1024, 256 * 1024}; // a token's piece
inline constexpr cutter fine_cutter{12, 1024, 16 * 1024};         // a chunk

inline fingerprint fingerprint_of(bytes_view chunk) {
    sha1_ctx hash;
    sha1_init(&hash);
    sha1_update(&hash, chunk.size(), chunk.data());
    fingerprint f;
    sha1_digest(&hash, f.size(), f.data());
    return f;
}

struct fingerprint_hash {
    std::size_t operator()(const fingerprint& f) const noexcept {
        std::size_t word;
        std::memcpy(&word, f.data(), sizeof word);
        return word;
    }
};

inline std::vector<std::uint8_t> compressed(bytes_view chunk) {
    uLongf size = compressBound(static_cast<uLong>(chunk.size()));
    std::vector<std::uint8_t> to(size);
    if (compress2(to.data(), &size, chunk.data(), static_cast<uLong>(chunk.size()), Z_DEFAULT_COMPRESSION) !=
        Z_OK)
        throw std::runtime_error("zlib cannot compress a chunk");
    to.resize(size);
    return to;
}

// The archive: for each chunk either its content (bytes, compressed bytes, those) or the number of an earlier chunk that has
// the same content. Numbers are 32 bits, little endian.
class archive {
public:
    void add_content(std::size_t size, bytes_view compressed_content) {
        number(static_cast<std::uint32_t>(size));
        number(static_cast<std::uint32_t>(compressed_content.size()));
        data_.insert(data_.end(), compressed_content.begin(), compressed_content.end());
    }
    void add_reference(std::uint32_t chunk) {
        number(0);
        number(chunk);
    }
    const std::vector<std::uint8_t>& data() const { return data_; }
    bool operator==(const archive&) const = default;

    std::vector<std::uint8_t> extract() const {
        std::vector<std::uint8_t> all;
        std::vector<std::pair<std::size_t, std::size_t>> contents; // begin and size in `all`
        for (std::size_t at = 0; at < data_.size();) {
            const std::uint32_t size = number_at(at), second = number_at(at + 4);
            at += 8;
            if (size == 0) {
                const auto [begin, length] = contents.at(second);
                all.resize(all.size() + length); // in front of the copy: the memory may move
                std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(begin), length,
                            all.end() - static_cast<std::ptrdiff_t>(length));
                continue;
            }
            if (second > data_.size() - at) throw std::runtime_error("the archive ends within a chunk");
            const std::size_t begin = all.size();
            all.resize(begin + size);
            uLongf length = size;
            if (uncompress(all.data() + begin, &length, data_.data() + at, second) != Z_OK || length != size)
                throw std::runtime_error("zlib cannot read a chunk of the archive");
            contents.emplace_back(begin, size);
            at += second;
        }
        return all;
    }

private:
    void number(std::uint32_t n) {
        for (int shift = 0; shift < 32; shift += 8) data_.push_back(static_cast<std::uint8_t>(n >> shift));
    }
    std::uint32_t number_at(std::size_t at) const {
        if (at + 4 > data_.size()) throw std::runtime_error("the archive ends within a number");
        std::uint32_t n = 0;
        for (std::size_t i = 0; i < 4; ++i) n |= std::uint32_t{data_[at + i]} << (8 * i);
        return n;
    }

    std::vector<std::uint8_t> data_;
};

// Text of words of a small language, parts of which come again, some of them with changes: about `repeated` of it.
inline std::vector<std::uint8_t> make_input(std::size_t bytes, double repeated, std::uint64_t seed) {
    std::vector<std::uint8_t> made;
    made.reserve(bytes);
    std::uint64_t state = mix(seed);
    const auto draw = [&] { return state = mix(state); };
    while (made.size() < bytes) {
        const std::size_t part = std::min<std::size_t>(bytes - made.size(), 4096 + draw() % 60'000);
        const bool again = made.size() > part && static_cast<double>(draw() >> 11) * 0x1p-53 < repeated;
        if (again) {
            const std::size_t from = draw() % (made.size() - part), begin = made.size();
            made.insert(made.end(), made.begin() + static_cast<std::ptrdiff_t>(from),
                        made.begin() + static_cast<std::ptrdiff_t>(from + part));
            if (draw() % 2 == 0) made[begin + draw() % part] ^= 1;
            continue;
        }
        for (const std::size_t end = made.size() + part; made.size() < end;) {
            const std::uint64_t word = mix(draw() % 3000);
            for (std::uint64_t i = 0, letters = 2 + word % 8; i < letters && made.size() < end; ++i)
                made.push_back(static_cast<std::uint8_t>('a' + (word >> (8 + 5 * i)) % 26));
            if (made.size() < end) made.push_back(draw() % 12 == 0 ? '\n' : ' ');
        }
    }
    return made;
}

} // namespace examples
