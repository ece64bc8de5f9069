#pragma once

#include "share/word_file.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

// The layout of a slot: docs/share-table.md. Not here: files (slot_writer.hpp, table.hpp).
namespace weft::share {

inline constexpr std::uint32_t layout_version = 1;
inline constexpr std::size_t slot_bytes = 4096;
inline constexpr std::int64_t most_count = std::int64_t{1} << 62;
inline constexpr std::int64_t most_pid = std::int64_t{1} << 22; ///< the kernel's own limit

/// What a program tells of itself. Counts only grow while one runtime has the slot.
struct slot_numbers {
    std::int64_t pid = 0;
    std::int64_t start = 0;     ///< field 22 of /proc/pid/stat
    std::int64_t published = 0; ///< CLOCK_MONOTONIC, ns
    std::int64_t processor = 0; ///< ns of processor time of the process
    std::int64_t tasks = 0; ///< that workers have started: lazy children count when another worker takes them
    std::int64_t work = 0;  ///< cycles that tasks have declared
    std::int64_t bytes = 0; ///< of data that tasks have declared
    std::int64_t misses = -1; ///< -1: not counted
    std::int64_t workers = 0, active = 0;
    std::int64_t busy = 0; ///< ns, summed over the workers
    bool is_over = false;
};

inline constexpr std::size_t slot_words = 12;

enum class reading : std::uint8_t { fresh, stale, over, empty, none, torn, damaged };
const char* name_of(reading);

struct slot_reading {
    reading state = reading::none;
    std::string why{};
    slot_numbers numbers{}; ///< if fresh, stale or over
};

using head_of_file = std::array<std::byte, word_file::head_bytes>;

head_of_file slot_head() noexcept;
std::array<std::uint64_t, slot_words> words_of(const slot_numbers&) noexcept;

/// Whatever the bytes are: numbers in their ranges, or a reading that has none. `now` in ns of CLOCK_MONOTONIC; a slot
/// whose time is more than `timeout` ago is stale.
slot_reading read_slot(std::span<const std::byte, word_file::head_bytes>,
                       std::span<const std::uint64_t, slot_words>, std::int64_t now, std::int64_t timeout);

} // namespace weft::share
