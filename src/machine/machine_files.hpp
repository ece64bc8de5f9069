#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// Machine files by name. They are looked for in these directories, in this order:
//
//     1. those of the variable WEFT_MACHINES, which has colons between them
//     2. DATADIR/weft/machines of the installation that the program was built against
//     3. in the nearest directory above this library (or above the program that contains it): share/weft/machines,
//        as in an installation or in the Python package, or machines/, as in the source tree
//
// The first directory that has a file of the name wins. A name is a file's name without its ending.
namespace weft {

inline constexpr char machines_variable[] = "WEFT_MACHINES";

struct machine_file {
    std::string name;
    std::filesystem::path path; // absolute
};

// Whether a specification (see load_machine) is a path: it contains '/', or ends in .toml or .xml.
bool is_machine_path(std::string_view spec);

// Whether it is the name of a file: letters, digits, '-', '_' and '.', and not only digits, as "4" is hwloc's.
bool is_machine_name(std::string_view spec);

// The directories above that exist, without repetitions.
std::vector<std::filesystem::path> machine_directories();

// All files that a name can find, by name.
std::vector<machine_file> machine_files();

// The file of that name. Throws weft::error if there is none; it says the nearest name, all names, and the
// directories.
std::filesystem::path find_machine_file(std::string_view name);

} // namespace weft
