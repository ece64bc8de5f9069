#pragma once

#include "machine/figures.hpp"

#include <filesystem>
#include <optional>
#include <string>

// What was measured on this machine, and the file that keeps it, so that a model of this machine is the same each
// time: in $XDG_CACHE_HOME/weft, or ~/.cache/weft.
namespace weft {

struct calibration {
    std::string day;       // as 2026-01-31
    std::string host;      // what the machine is told apart by
    std::string processor; // likewise
    int processors = 0;    // likewise: how many the system has, whatever this process may use
    figure_values values;
};

// Day, host and processors as they are now; no values.
calibration identity_of_this_machine(const std::string& processor);

// Empty if there is no cache directory: neither XDG_CACHE_HOME nor HOME is set to an absolute path.
std::filesystem::path calibration_file(const std::string& host);

// What the file has about that machine; nothing if there is none, it is about another machine, or a version of Weft has
// written it that measured less, or in another way. Throws weft::error
// for a file that cannot be understood.
std::optional<calibration> read_calibration(const std::filesystem::path& file, const calibration& of);

// Replaces the file as a whole. Returns why that failed; empty: it did not.
std::string write_calibration(const std::filesystem::path& file, const calibration& what);

} // namespace weft
