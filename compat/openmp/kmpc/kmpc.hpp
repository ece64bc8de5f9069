#pragma once

#include "runtime/current.hpp"
#include "runtime/region.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

/// What clang's code and this library have in common. The layouts are those that clang 19 emits (clang -fopenmp -S -emit-llvm).
///
/// A global thread number (`gtid`) is no more than a hint: compiled code reads it once and hands it to every call, also after a wait. The
/// caller is found by the runtime itself (current.hpp).
namespace weft::openmp::kmpc {

using gtid = std::int32_t;

/// Where a construct is in the source: ";file;function;line;column;;". `flags` says what the compiler has prepared.
struct location {
    std::int32_t reserved_1;
    std::int32_t flags;
    std::int32_t reserved_2;
    std::int32_t reserved_3;
    const char* source;
};
inline constexpr std::int32_t has_atomic_reduction = 0x10, is_explicit_barrier = 0x20, is_of_sections = 0x400;

/// The number that the compiled code gets. It is never used to find anything.
gtid number_of_caller() noexcept;

/// A task as the compiled code sees it. Its private data follow, then what it shares.
struct task {
    void* shares;
    std::int32_t (*code)(gtid, task*);
    std::int32_t part; ///< untied: where the body goes on
    union {
        std::int32_t priority;
        std::int32_t (*destroy)(gtid, task*);
    } first, second; ///< the destructors of the private data; the priority
};
static_assert(sizeof(task) == 40);

/// The region of a task: it lies in front of it.
region& region_of(task*) noexcept;

/// A message that the program has asked for, on standard error. `is_fatal`: ends the program.
void report(bool is_fatal, const char* text);

/// A critical section's name: zero at first. The lock is in the first word.
using critical_name = std::int32_t[8];

template <class T>
using unsigned_of = std::make_unsigned_t<T>;

} // namespace weft::openmp::kmpc
