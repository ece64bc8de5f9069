#pragma once

#include <cstdint>

// What identifies and dates the publications of a process.
namespace weft::share {

std::int64_t monotonic_ns() noexcept; ///< CLOCK_MONOTONIC
std::int64_t processor_ns() noexcept; ///< processor time of this process
std::int64_t start_ticks() noexcept;  ///< of this process: field 22 of /proc/self/stat; 0: not known
std::int64_t start_ticks_of(std::int64_t pid) noexcept; ///< likewise; 0: there is none

} // namespace weft::share
