// The most memory that this process ever had, as the kernel counts it (VmHWM).
#pragma once

#include <fstream>
#include <string>

namespace bench {

inline double peak_mb() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
    return 0;
}

} // namespace bench
