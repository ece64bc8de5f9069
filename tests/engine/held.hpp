#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>

/// What this process holds, to be compared before and after.
namespace weft::test {

/// Of a folder: of /proc/self/task or /proc/self/fd, say.
inline std::size_t entries(const char* of) {
    const std::filesystem::directory_iterator list(of);
    return static_cast<std::size_t>(std::distance(begin(list), end(list)));
}

/// Of its address space.
inline std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    return static_cast<std::size_t>(
        std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n'));
}

} // namespace weft::test
