#pragma once

#include "machine/machine.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace weft {

// A machine from what a user writes in an option or a variable:
//     "", "this"                       the machine this process runs on, see this_machine
//     "mine/opteron.toml"              a path (it contains '/', or ends in .toml or .xml) to a file in the format
//                                      of load_toml
//     "node17.xml"                     or to an XML file, as `lstopo node17.xml` writes it
//     "opteron-8380-4x4"               the name of a file, see machine_files.hpp
//     "pack:2 [numa] l3:2 core:4 pu:2" an hwloc synthetic string: anything else
// The machine is as described; model_machine() adds what a model needs. Throws weft::error where that cannot be
// done.
machine load_machine(std::string_view spec);

// Whether load_machine takes it for the machine this process runs on.
bool is_this_machine(std::string_view spec);

// Without spaces around it.
std::string_view trimmed_machine_spec(std::string_view spec);

// The processing units that the calling thread may run on (affinity mask and cpuset control group),
// hyperthreads included, and the processor quota of the process. hwloc reads the machine once, and again for other
// masks of the thread, other processors that are online, and other variables HWLOC_*.
machine this_machine();

// Machines from elsewhere: os_index is -1 for all ranks.
machine load_xml(const std::filesystem::path& file);
machine load_synthetic(const std::string& spec);

// The format is described in machines/README.md. Every error names the file, the line and the key.
machine load_toml(const std::filesystem::path& file);

// The same from text; `name` stands for the file in errors.
machine parse_toml(std::string_view text, std::string_view name);

} // namespace weft
