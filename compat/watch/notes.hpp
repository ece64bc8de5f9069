#pragma once

/// The file, and how a thread notes something in it. Usable in handlers of signals: no lock, no memory from the heap.
#include "record.hpp"

#include <cstdint>
#include <span>

namespace weft::watch {

/// The addresses of a stack, innermost first.
struct stack {
    std::uint64_t frames[most_frames];
    std::uint32_t depth = 0;
};

/// Of the caller; `skip` frames are left out, its own function first.
[[gnu::noinline]] stack take_stack(std::uint32_t skip) noexcept;

/// Of the code that a signal has interrupted at `at`. `restorer`: where handlers return to. If two signals wait for a thread,
/// the kernel enters one handler and interrupts it at once for the other one. Then the stack is that of the code below both:
/// the time was spent there.
[[gnu::noinline]] stack take_interrupted_stack(std::uint64_t at, const void* restorer) noexcept;

/// Makes the file. Returns false if that fails.
bool open_notes(const char* path) noexcept;

/// Ends noting in this process, as in a child after fork().
void close_notes() noexcept;

/// Whether there is a file.
bool is_noting() noexcept;

header& notes_header() noexcept;

/// Adds a time of `ns` to the place of `s`. Returns the place, or no_place.
std::uint32_t note(state what, const stack& s, std::uint64_t ns, std::uint64_t object,
                   std::uint32_t holder) noexcept;

/// Adds to a place what the kernel did for the thread meanwhile.
void note_kernel(std::uint32_t place, std::uint64_t faults, std::uint64_t system_ns) noexcept;

/// Adds a wait that was too short for a place.
void note_short(std::uint64_t ns) noexcept;

std::uint64_t now_ns() noexcept;    ///< of the monotonic clock
std::uint64_t thread_ns() noexcept; ///< processor time of the calling thread

} // namespace weft::watch
