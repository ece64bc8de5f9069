#pragma once

#include <string>
#include <vector>

/// The processors that the process may use, with their cores and sockets, as the kernel names them.
namespace weft::openmp {

struct processor {
    int number = 0; ///< of the operating system
    int core = 0;   ///< in its socket; threads of one core have the same
    int socket = 0;

    friend bool operator==(const processor&, const processor&) = default;
};

/// In the order of sockets, cores, numbers. Read once; what restrict_processors() has left out is missing.
const std::vector<processor>& usable_processors();

/// KMP_HW_SUBSET: "2s,4c@2,1t": so many of each layer, from that one on. A colon in front: layers that are not named do not divide.
/// False if it is malformed, or nothing would be left.
bool restrict_processors(const std::string& text);

/// The processors in groups that agree in these.
std::vector<std::vector<int>> processors_by_core();
std::vector<std::vector<int>> processors_by_socket();

} // namespace weft::openmp
