#pragma once

#include "replay/script.hpp"
#include "trace/write/record.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

namespace weft::replay {

/// Where the time of a task comes from.
enum class times : std::uint8_t {
    measured, ///< how long it ran; in virtual time: how long it computed
    declared, ///< weft::cost, and what the task declares of data and disks
};

/// Forks of one task that are open at a time: see player::play().
inline constexpr std::size_t most_nested = 20'000;

/// The program that left `records`, which are as for trace::walk(). `names` by number; `is_virtual`: the time
/// of the trace is virtual. Throws std::bad_alloc, and std::invalid_argument with a message for users if the
/// times shall be declared ones and the program declares none, and if the records are damaged: any records give either
/// that or a script that can be played. Where events are missing, so that waits of groups or runs overlap, a
/// script has the part that is known.
script read_script(std::span<const trace::record> records, int workers, bool complete, bool is_virtual,
                   const std::unordered_map<std::uint32_t, std::string>& names, times from);

} // namespace weft::replay
