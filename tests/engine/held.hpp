#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>

/// The resources that this process holds, to be compared before and after.
namespace weft::test {

/// The number of entries of a folder, for example /proc/self/task or /proc/self/fd.
inline std::size_t entries(const char* of) {
    const std::filesystem::directory_iterator list(of);
    return static_cast<std::size_t>(std::distance(begin(list), end(list)));
}

/// The number of mappings of its address space.
inline std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    return static_cast<std::size_t>(
        std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n'));
}

} // namespace weft::test
