#pragma once

#include "share/slot_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

// The layout of the file by which a program lends cores and borrows them: docs/share.md. Not here: files (lending_board.hpp).
namespace weft::share {

inline constexpr int most_cpus = 1024; ///< numbers of the operating system below this one
inline constexpr int most_lending_workers = 1024;
inline constexpr std::size_t most_name = 23; ///< bytes

/// What does not change while the program has the file.
struct lending_head {
    int workers = 0; ///< on its own cores
    int guests = 0;  ///< workers for cores of others
    std::int64_t pid = 0;
    std::int64_t start = 0; ///< field 22 of /proc/PID/stat
    std::string name{};
};

/// A worker on an own core. Each worker writes its own word.
struct home_word {
    int cpu = -1; ///< -1: none yet
    bool is_lent = false;
    std::uint64_t generation = 0; ///< how often it has been lent, modulo 2^40

    bool operator==(const home_word&) const = default;
};

/// A core of another program that this one claims.
struct claim_word {
    int cpu = -1;                 ///< -1: none
    std::int64_t lender = 0;      ///< the process that lends it
    std::uint64_t generation = 0; ///< of the word by which it is lent, modulo 2^20

    bool operator==(const claim_word&) const = default;
};

/// Writes the home words, then the claims; word by word: each stands for itself.
std::size_t lending_bytes(const lending_head&) noexcept;

head_of_file head_of(const lending_head&) noexcept;
/// False, and why, if these bytes are no head.
bool read_head(const head_of_file&, lending_head&, std::string& why);

std::uint64_t pack(const home_word&) noexcept;
std::uint64_t pack(const claim_word&) noexcept;
/// Whatever the word is: what it says, or no core.
home_word home_of(std::uint64_t) noexcept;
claim_word claim_of(std::uint64_t) noexcept;

} // namespace weft::share
