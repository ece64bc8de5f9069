#pragma once

#include "share/placements.hpp"
#include "share/slot_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The layout of the daemon's file: docs/share-table.md. Not here: files (table.hpp).
namespace weft::share {

/// Where a rate comes from, best last.
enum class rate_source : std::uint8_t { none, kernel, profile, published, counters };
inline constexpr std::string_view source_names[] = {"none", "kernel", "profile", "published", "counters"};
/// Throws weft::error for a name that is none.
rate_source source_of(std::string_view name);

struct table_program {
    int slot = 0;
    std::int64_t pid = 0, start = 0; ///< as in slot_numbers; 0: not known
    std::int64_t rate = 0;
    rate_source source = rate_source::none;
    int load = 1000; ///< thousandths
    int domain = -1;
    int active = 0;     ///< workers that a program on Weft is to use; 0: as many as it likes
    std::string name{}; ///< at most 31 bytes
};

struct table_numbers {
    std::uint64_t generation = 0;
    std::int64_t decided = 0, published = 0; ///< CLOCK_MONOTONIC, ns
    std::int64_t daemon = 0;                 ///< pid
    int by = 0;                              ///< index of scheduler_names
    std::vector<table_program> programs{};
};

struct table_head {
    int slots = 0;           ///< 1..most_programs
    std::int64_t period = 0; ///< ns between two publications
};

struct table_reading {
    reading state = reading::damaged; ///< fresh, torn or damaged
    std::string why{};
    table_numbers numbers{}; ///< if fresh
};

inline constexpr std::int64_t least_period = 1'000'000, greatest_period = 3'600'000'000'000;

std::size_t table_words(int slots) noexcept;
std::size_t table_bytes(int slots) noexcept; ///< of the file

head_of_file head_of(const table_head&) noexcept;
/// False, with the reason, if the bytes are no head of this version.
bool read_head(std::span<const std::byte, word_file::head_bytes>, table_head&, std::string& why);

/// Throws weft::error if a number is out of the range that readers accept.
std::vector<std::uint64_t> words_of(const table_numbers&, int slots);
table_reading read_table(std::span<const std::uint64_t>, int slots, std::int64_t now);

} // namespace weft::share
