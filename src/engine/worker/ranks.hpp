#pragma once

#include "policy/seam/policy.hpp"

#include <cstdint>

namespace weft::engine {

/// The number of a worker in a worker_set.
constexpr std::uint32_t rank(worker_id w) noexcept { return static_cast<std::uint32_t>(w); }

/// A range of workers in one word; 0 is the empty range.
constexpr std::uint64_t pack(workers r) noexcept { return std::uint64_t{rank(r.first)} << 32 | rank(r.last); }
constexpr workers unpack(std::uint64_t r) noexcept {
    return {static_cast<worker_id>(r >> 32), static_cast<worker_id>(r & 0xffff'ffff)};
}

} // namespace weft::engine
