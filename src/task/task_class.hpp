#pragma once

#include "task/task.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

/// The class of a task: tasks of one class are expected to do similar work.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.6.1: tasks that execute
///   the same function are of one class.
///
/// The function is hints::name if the program gives it, else the code of the closure. hints::key tells apart tasks of one
/// function whose sizes differ (ours: the book runs one function on data of many sizes). A key without a name stands alone.
namespace weft {

namespace task_class_detail {

/// The finalizer of splitmix64 (G. Steele, D. Lea, C. Flood: Fast splittable pseudorandom number generators. OOPSLA 2014).
constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31U);
}

} // namespace task_class_detail

/// Never 0.
inline std::uint64_t class_of(const hints& hint, void (*code)(void*)) noexcept {
    using task_class_detail::mixed;
    std::uint64_t hash = 0;
    if (!hint.name.empty()) {
        hash = 0xcbf29ce484222325u; // FNV-1a
        for (const char c : hint.name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    } else if (hint.key == 0) {
        hash = std::bit_cast<std::uintptr_t>(code);
    }
    if (hint.key != 0) hash = mixed(hash ^ mixed(hint.key));
    return hash == 0 ? 1 : hash;
}
/// The class is the same in each run of the program: it is no address of code.
inline bool has_lasting_class(const hints& hint) noexcept { return !hint.name.empty() || hint.key != 0; }
inline std::uint64_t class_of(const task& t) noexcept { return class_of(t.hint(), t.call_); }

} // namespace weft
