#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

/// Places of a program's code, and the program itself, by names that hold in the next process, too.
namespace weft {

/// Writes `module+0xoffset` for an address of code, the module with the first digits of its build id: `solver.1f3a52c0+0x4a10`. The
/// result is a part of `room`. Allocates nothing. Empty if the address is in no module.
std::string_view name_of_code(const void* address, std::span<char> room) noexcept;

/// Of the program that runs: the build id of its file; without one the path, the size and the time of the last change. Empty if
/// there is none of these.
std::string identity_of_program();

} // namespace weft
