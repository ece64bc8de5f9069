#pragma once

#include "machine/machine.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace weft {

// A machine from what a user writes in an option or a variable:
//     ""                               the machine this process runs on, see this_machine
//     "machines/opteron-8380-4x4.toml" a file that ends in .toml, see load_toml
//     "node17.xml"                     a file that ends in .xml, as `lstopo node17.xml` writes it
//     "pack:2 [numa] l3:2 core:4 pu:2" an hwloc synthetic string: anything else
// Throws weft::error where that cannot be done.
machine load_machine(std::string_view spec);

// The processing units that the calling thread may run on (affinity mask and cpuset control group),
// hyperthreads included, and the processor quota of the process.
machine this_machine();

// Machines from elsewhere: os_index is -1 for all ranks.
machine load_xml(const std::filesystem::path& file);
machine load_synthetic(const std::string& spec);

// The format is described in machines/README.md. Every error names the file, the line and the key.
machine load_toml(const std::filesystem::path& file);

// The same from text; `name` stands for the file in errors.
machine parse_toml(std::string_view text, std::string_view name);

} // namespace weft
