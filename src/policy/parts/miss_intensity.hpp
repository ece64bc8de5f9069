#pragma once

#include <cstdint>

/// Whether a program is CPU-bound, by the cache misses per instruction (CMPI) of its tasks.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 4.10.6 for
///   LAWS; 3.8.2.3 says the same of CAB without a figure.
///
/// A task is CPU-bound if its intensity is below some threshold. A program is CPU-bound if most of its tasks
/// are. The book names no threshold. Here "most" counts instructions, not tasks: tasks that only divide are
/// nearly half of a binary tree, and whether the few instructions of such a task miss is chance. Tasks whose
/// instructions were not counted do not count.
namespace weft {

constexpr bool is_cpu_bound(std::uint64_t misses, std::uint64_t instructions,
                            double misses_per_instruction) noexcept {
    return static_cast<double>(misses) < misses_per_instruction * static_cast<double>(instructions);
}

/// Whether CPU-bound tasks ran most instructions: `cpu_bound` of the `instructions` of all tasks.
constexpr bool computes_mostly(std::uint64_t cpu_bound, std::uint64_t instructions) noexcept {
    return cpu_bound > instructions / 2;
}

} // namespace weft
