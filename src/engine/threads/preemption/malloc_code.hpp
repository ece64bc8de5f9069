#pragma once

#include <cstddef>
#include <cstdint>

#include <ucontext.h>

namespace weft::engine {

/// The machine code of this process's malloc and free. A thread that was interrupted there may hold a lock of malloc, and
/// changes words of its kernel thread: it is preempted later (Y5 of README.md beside this file).
///
/// malloc of the C library lies between two functions which that library exports; malloc of another library (jemalloc, a
/// sanitizer) lies anywhere in it. malloc that is part of the program itself is not known.
class malloc_code {
public:
    /// Found by the first call, which may not be in a handler.
    static malloc_code& of_this_process() noexcept;

    bool is_known() const noexcept { return own_.begin != 0; }
    /// Whether the interrupted code is that of malloc.
    bool contains(const ucontext_t& interrupted) const noexcept;

    /// For how many ticks, one after the other, the interrupted code is taken for a function that malloc has called: one of
    /// the C library, or of the vDSO, with a word on the stack, below `top`, that looks like a return address into malloc.
    /// The word may be an old one. 0: it is no such function.
    int patience(const ucontext_t& interrupted, const std::byte* top) const noexcept;
    /// For how many ticks, one after the other, a task that yields is not preempted in other code of the C library, the C++
    /// library or the dynamic linker, which may have the address of its thread's record in a register. 0: it may be, also at a
    /// system call or right behind one.
    int patience_of_yield(const ucontext_t& interrupted) const noexcept;
    void forget() noexcept { own_ = {}; } ///< for tests: it is not known

private:
    struct range {
        std::uintptr_t begin = 0, end = 0;
        bool contains(std::uintptr_t a) const noexcept { return begin <= a && a < end; }
    };
    friend class text_of_library;

    malloc_code() noexcept;
    bool seems_to_call(const ucontext_t& interrupted, const std::byte* top) const noexcept;

    range own_; ///< of malloc
    // Where the functions lie which malloc calls: mmap, memset, waiting for a lock; clock_gettime in the vDSO.
    range c_library_, kernels_own_;
    range cxx_library_, dynamic_linker_;
};

} // namespace weft::engine
