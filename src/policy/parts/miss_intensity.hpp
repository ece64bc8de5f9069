#pragma once

#include <cstdint>

/// Whether a program only computes: by the cache misses per instruction (CMPI) of its tasks.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 4.10.6 for
///   LAWS; 3.8.2.3 says the same of CAB without a figure.
///
/// A task with a lower intensity than some threshold is CPU-bound, and so is a program of which most tasks
/// are. The book names no threshold. Its "most" is taken by instructions: tasks that only divide are nearly
/// half of a binary tree, and in the few instructions of each it is chance whether there is a miss. Tasks
/// whose instructions nobody counted are not asked.
namespace weft {

constexpr bool is_cpu_bound(std::uint64_t misses, std::uint64_t instructions,
                            double misses_per_instruction) noexcept {
    return static_cast<double>(misses) < misses_per_instruction * static_cast<double>(instructions);
}

/// Of `instructions` of all tasks, those of the CPU-bound ones.
constexpr bool computes_mostly(std::uint64_t cpu_bound, std::uint64_t instructions) noexcept {
    return cpu_bound > instructions / 2;
}

} // namespace weft
