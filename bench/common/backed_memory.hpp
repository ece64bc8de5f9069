// Virtual machines hand free memory back to their host, and the first process that uses it again pays for the host's
// page faults: up to four times what a graph of a million tasks costs, or nothing, as it happens.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>

namespace bench {

/// Makes so much of the free memory of this machine memory that its host has backed, for the next seconds. A
/// child process touches it and ends: the peak of this process stays its own. Before there are other threads.
inline void back_memory(std::size_t mb) {
    constexpr std::size_t page = 4096;
    const pid_t child = fork();
    if (child == 0) {
        const std::size_t bytes = mb << 20;
        void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) _exit(1);
        madvise(at, bytes, MADV_HUGEPAGE);
        for (std::size_t i = 0; i < bytes; i += page) static_cast<volatile char*>(at)[i] = 1;
        _exit(0);
    }
    if (child > 0) waitpid(child, nullptr, 0);
}

} // namespace bench
