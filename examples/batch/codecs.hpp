// What the tasks of a batch do with their files: files.hpp says what a codec has. The costs are of text as made_text()
// makes it, without the instructions for SHA-1 that later processors have (NETTLE_FAT_OVERRIDE).
#pragma once

#include "../common/random.hpp"
#include "dmc.hpp"
#include "lzw.hpp"

#ifdef WEFT_EXAMPLE_DIVSUFSORT
#    include <divsufsort.h>
#endif
#ifdef WEFT_EXAMPLE_NETTLE
#    include <nettle/md5.h>
#    include <nettle/sha1.h>
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace examples {

using text_span = std::span<const std::uint8_t>;
using buffer_span = std::span<std::uint8_t>;

inline std::uint64_t digest_of(text_span bytes) {
    std::uint64_t h = bytes.size(), word = 0;
    for (std::size_t at = 0; at < bytes.size(); at += sizeof word) {
        word = 0;
        std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
        h = (h ^ word) * 0x9e3779b97f4a7c15;
        h ^= h >> 29;
    }
    return h;
}

inline void must_be_same(text_span before, text_span after) {
    if (!std::ranges::equal(before, after)) throw std::runtime_error("a file does not come back as it was");
}

struct lzw_codec {
    static constexpr std::string_view name = "lzw";
    static constexpr double cycles_a_byte = 26;
    static constexpr std::size_t scratch_bytes(std::size_t) { return 32768; }    // strings
    static constexpr std::size_t output_bytes(std::size_t size) { return size; } // codes

    static std::uint64_t process(text_span file, buffer_span, bool check) {
        const std::vector<std::uint16_t> codes = lzw_compress(file);
        if (check) must_be_same(file, lzw_expand(codes));
        return digest_of({reinterpret_cast<const std::uint8_t*>(codes.data()), 2 * codes.size()});
    }
};

struct dmc_codec {
    static constexpr std::string_view name = "dmc";
    static constexpr double cycles_a_byte = 238;
    static constexpr std::size_t scratch_bytes(std::size_t size) { // states, of which a byte makes 1.5
        return std::min(24 * size, std::size_t{1} << 20);
    }
    static constexpr std::size_t output_bytes(std::size_t size) { return size / 2; }

    static std::uint64_t process(text_span file, buffer_span, bool check) {
        const std::vector<std::uint8_t> coded = dmc_compress(file);
        if (check) must_be_same(file, dmc_expand(coded, file.size()));
        return digest_of(coded);
    }
};

#ifdef WEFT_EXAMPLE_DIVSUFSORT
// M. Burrows, D. J. Wheeler: A block-sorting lossless data compression algorithm. DEC SRC report 124, 1994. By
// libdivsufsort, which sorts the suffixes.
struct bwt_codec {
    static constexpr std::string_view name = "bwt";
    static constexpr double cycles_a_byte = 103;
    static constexpr std::size_t scratch_bytes(std::size_t size) { return 4 * size; } // suffixes
    static constexpr std::size_t output_bytes(std::size_t size) { return 2 * size; }

    static std::uint64_t process(text_span file, buffer_span, bool check) {
        const auto size = static_cast<saidx_t>(file.size());
        std::vector<std::uint8_t> changed(file.size());
        std::vector<saidx_t> suffixes(file.size());
        const saidx_t first = divbwt(file.data(), changed.data(), suffixes.data(), size);
        if (first < 0) throw std::runtime_error("divbwt failed");
        if (check) {
            std::vector<std::uint8_t> back(file.size());
            inverse_bw_transform(changed.data(), back.data(), suffixes.data(), size, first);
            must_be_same(file, back);
        }
        return digest_of(changed) + static_cast<std::uint64_t>(first);
    }
};
#endif

#ifdef WEFT_EXAMPLE_NETTLE
template <class Context, std::size_t Bytes, auto Init, auto Update, auto Digest>
std::uint64_t hashed(text_span file) {
    Context context;
    std::array<std::uint8_t, Bytes> digest;
    Init(&context);
    Update(&context, file.size(), file.data());
    Digest(&context, Bytes, digest.data());
    return digest_of(digest);
}

struct md5_codec {
    static constexpr std::string_view name = "md5";
    static constexpr double cycles_a_byte = 5.4;
    static constexpr std::size_t scratch_bytes(std::size_t) { return 0; }
    static constexpr std::size_t output_bytes(std::size_t) { return MD5_DIGEST_SIZE; }
    static std::uint64_t process(text_span file, buffer_span, bool) {
        return hashed<md5_ctx, MD5_DIGEST_SIZE, md5_init, md5_update, md5_digest>(file);
    }
};

struct sha1_codec {
    static constexpr std::string_view name = "sha1";
    static constexpr double cycles_a_byte = 4;
    static constexpr std::size_t scratch_bytes(std::size_t) { return 0; }
    static constexpr std::size_t output_bytes(std::size_t) { return SHA1_DIGEST_SIZE; }
    static std::uint64_t process(text_span file, buffer_span, bool) {
        return hashed<sha1_ctx, SHA1_DIGEST_SIZE, sha1_init, sha1_update, sha1_digest>(file);
    }
};
#endif

} // namespace examples
