#pragma once

#include <cstddef>

/// threadprivate data that the compiled code asks the runtime for (clang without thread-local storage, Intel's compilers). A copy
/// belongs to a seat, so it stays with the OpenMP thread wherever its task runs. Thread 0 of a team has those of the thread that has
/// begun the region; the program's first thread has the original.
namespace weft::openmp {

struct region;
struct seat;

/// How copies are made, if the data are objects. An array has a number of elements, and functions that take it.
struct private_class {
    void* (*construct)(void*) = nullptr;
    void (*destroy)(void*) = nullptr;
    void* (*construct_elements)(void*, std::size_t) = nullptr;
    void (*destroy_elements)(void*, std::size_t) = nullptr;
    std::size_t elements = 0;
};

void register_privates(void* original, const private_class&);
/// The caller's copy. Without a class it begins with the bytes that the original has at the first call of any thread.
void* private_copy(const region& me, void* original, std::size_t bytes);
void free_privates(seat&) noexcept;

} // namespace weft::openmp
