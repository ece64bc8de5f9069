#pragma once

#include "replay/script.hpp"
#include "trace/write/record.hpp"

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

/// The program that left `records`, which are as for trace::walk(). `names` by number; `is_virtual`: the time
/// of the trace is virtual. Throws std::bad_alloc, and std::invalid_argument with a message for users if the
/// times shall be declared ones and the program declares none.
script read_script(std::span<const trace::record> records, int workers, bool complete, bool is_virtual,
                   const std::unordered_map<std::uint32_t, std::string>& names, times from);

} // namespace weft::replay
