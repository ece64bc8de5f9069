#pragma once

#include "trace/write/record.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

namespace weft::replay {

/// Checks each number of the records that a replay uses as an index, an enumeration, a size or a time, whatever the
/// records before say: names that exist, modes and kinds of work that are known, data within an address space, times that
/// a model can count. The walk over the records accepts any order of them. Throws std::invalid_argument, with the record's
/// index, what was given and what is allowed.
void check_records(std::span<const trace::record> records,
                   const std::unordered_map<std::uint32_t, std::string>& names);

/// Numbers of names are given out from 1 on; a larger one than this for so many names is damage.
inline std::uint64_t most_name_number(std::size_t names) noexcept { return 16 * std::uint64_t{names} + 4096; }

} // namespace weft::replay
