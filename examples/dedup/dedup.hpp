// A compressor that stores equal parts of its input once: a pipeline after PARSEC's dedup.
//
//   C. Bienia, S. Kumar, J. P. Singh, K. Li: The PARSEC benchmark suite. PACT 2008.
//
// The first stage cuts large pieces, the second cuts chunks of a piece; both cut by content. Then each chunk gets its
// fingerprint; a table tells which chunks were there before; the others are compressed; and the archive is written in
// the order of the input. The table is asked in that order, too, so the archive is the same for every schedule.
#pragma once

#include "../common/cost.hpp"
#include "chunks.hpp"

#include <weft/weft.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace examples {

// A byte: the Gear hash of the two cutters (which skip the least length of a piece), nettle's SHA-1, zlib's default
// compression of text, a copy into the archive. A chunk: one look into the table.
inline constexpr double fragment_cycles_per_byte = 0.92, refine_cycles_per_byte = 1.1,
                        fingerprint_cycles_per_byte = 1.8, compress_cycles_per_byte = 90,
                        copy_cycles_per_byte = 0.1, look_up_cycles = 95;

struct deduplicator {
    struct chunk {
        bytes_view content{};
        fingerprint print{};
        std::uint32_t same_as = 0; // number of the content
        bool is_new = false;
        std::vector<std::uint8_t> packed{}; // of a new one
    };
    struct piece {
        bytes_view content{};
        std::vector<chunk> chunks{};
    };

    explicit deduplicator(bytes_view input) : rest(input) {}

    // BEGIN-EXAMPLE dedup
    void run(std::size_t tokens) {
        using weft::stage::parallel, weft::stage::serial_in_order;
        weft::pipeline stages(serial_in_order([this] { return next_piece(); }, {.name = "fragment"}),
                              parallel([](piece& p) { refine(p); }, {.name = "refine"}),
                              parallel([](piece& p) { fingerprint_chunks(p); }, {.name = "fingerprint"}),
                              serial_in_order([this](piece& p) { look_up(p); }, {.name = "deduplicate"}),
                              parallel([](piece& p) { compress_new(p); }, {.name = "compress"}),
                              serial_in_order([this](const piece& p) { write(p); }, {.name = "write"}));
        stages.run(tokens);
    }
    // END-EXAMPLE dedup

    void run_serially() {
        while (auto p = next_piece()) {
            refine(*p);
            fingerprint_chunks(*p);
            look_up(*p);
            compress_new(*p);
            write(*p);
        }
    }

    // ---- the stages
    std::optional<piece> next_piece() {
        if (rest.empty()) return std::nullopt;
        piece p{rest.first(coarse_cutter.first_of(rest))};
        weft::touch(p.content.data(), p.content.size(), weft::access::read);
        spend(p.content.size(), fragment_cycles_per_byte);
        rest = rest.subspan(p.content.size());
        return p;
    }
    static void refine(piece& p) {
        weft::touch(p.content.data(), p.content.size(), weft::access::read);
        spend(p.content.size(), refine_cycles_per_byte);
        for (bytes_view left = p.content; !left.empty(); left = left.subspan(p.chunks.back().content.size()))
            p.chunks.push_back({left.first(fine_cutter.first_of(left))});
    }
    static void fingerprint_chunks(piece& p) {
        weft::touch(p.content.data(), p.content.size(), weft::access::read);
        spend(p.content.size(), fingerprint_cycles_per_byte);
        for (chunk& c : p.chunks) c.print = fingerprint_of(c.content);
    }
    void look_up(piece& p) {
        spend(p.chunks.size(), look_up_cycles);
        for (chunk& c : p.chunks) {
            const auto [found, is_new] = known.try_emplace(c.print, static_cast<std::uint32_t>(known.size()));
            c.same_as = found->second;
            c.is_new = is_new;
        }
    }
    // With --costs-only nothing is compressed: a chunk of the text that is made becomes 0.62 of its size.
    static std::size_t assumed_size_of(bytes_view content) { return content.size() * 5 / 8; }
    static void compress_new(piece& p) {
        for (chunk& c : p.chunks) {
            if (!c.is_new) continue;
            weft::touch(c.content.data(), c.content.size(), weft::access::read);
            spend(c.content.size(), compress_cycles_per_byte);
            c.packed = kernels_compute ? compressed(c.content)
                                       : std::vector<std::uint8_t>(assumed_size_of(c.content));
        }
    }
    void write(const piece& p) {
        for (const chunk& c : p.chunks) {
            ++chunks;
            if (!c.is_new) {
                ++duplicates;
                result.add_reference(c.same_as);
                continue;
            }
            weft::touch(c.packed.data(), c.packed.size(), weft::access::read);
            spend(c.packed.size(), copy_cycles_per_byte);
            result.add_content(c.content.size(), c.packed);
        }
    }

    bytes_view rest;
    std::unordered_map<fingerprint, std::uint32_t, fingerprint_hash> known{};
    archive result{};
    std::size_t chunks = 0, duplicates = 0;
};

} // namespace examples
