#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

/// Which part of a program's tree of tasks a task is: the interval of the leaves below it, in serial order,
/// where the whole tree is [0, 1).
///
/// Trees that are divided alike have equal parts: sweeps, half sweeps, and the program's first touch of its
/// data. So a part identifies a subtree from one iteration to the next without any id.
///
/// Not here: the data of a task (data_allocator.hpp), which may be divided differently. A plain value,
/// without shared state.
namespace weft {

struct tree_part {
    float from, width;

    /// That of child number `index` of `branching` equal ones. An index out of range counts as the last.
    tree_part child(int index, int branching) const noexcept {
        const auto of = static_cast<float>(branching);
        const auto i = std::min(static_cast<float>(index), of - 1);
        return {from + width * i / of, width / of};
    }

    /// Identifies the part; not 0, since a part has a width.
    std::uint64_t key() const noexcept {
        const std::uint64_t both =
            std::uint64_t{std::bit_cast<std::uint32_t>(from)} << 32 | std::bit_cast<std::uint32_t>(width);
        return both * 0x9e3779b97f4a7c15U >> 16; // id_table wants the low bits to differ
    }

    /// The width as an integer, where the whole is 2^40: sums of it are exact.
    std::int64_t size() const noexcept {
        return static_cast<std::int64_t>(width * static_cast<float>(std::int64_t{1} << 40));
    }

    /// Which of `count` equal parts of the tree its middle is in.
    int socket_of(int count) const noexcept {
        return std::clamp(static_cast<int>((from + width / 2) * static_cast<float>(count)), 0, count - 1);
    }

    /// Whether it lies within one of `count` equal parts of the tree.
    bool is_in_one_of(int count) const noexcept {
        const auto sockets = static_cast<float>(count);
        return std::floor(from * sockets + 0.001F) + 1.001F >= (from + width) * sockets;
    }
};

} // namespace weft
