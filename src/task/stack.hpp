#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

/// The memory of one fiber: `bytes` usable bytes that end at `top`, below them a guard that faults when
/// touched. Pages are given by the kernel at their first touch, so a large stack costs address space only.
struct stack {
    std::byte* base = nullptr; ///< lowest address of the mapping, the guard included
    std::size_t mapped_bytes = 0;
    std::size_t guard_bytes = 0;
    unsigned valgrind_id = 0; ///< Valgrind's id of it

    std::byte* top() const noexcept { return base + mapped_bytes; }
    std::byte* limit() const noexcept { return base + guard_bytes; } ///< lowest usable address
    bool guards(const void* address) const noexcept {
        auto a = static_cast<const std::byte*>(address);
        return base <= a && a < limit();
    }
};

/// The smallest stack accepted: a signal frame of this machine, the runtime's own needs, and some room to
/// work.
std::size_t min_stack_bytes() noexcept;
/// Room for the frame of one signal, with what its handler needs, in whole pages.
std::size_t signal_frame_bytes() noexcept;

/// Throws weft::error with the knob to turn when the kernel gives no more mappings.
/// The guard is MADV_GUARD_INSTALL where the kernel has it (Linux 6.13): a mapping then costs one entry of
/// vm.max_map_count at most, and neighbouring stacks share one. Otherwise the guard is a protected page,
/// which ends at about 32,000 stacks with the usual limit of 65,530 mappings. It is as large as an eighth of the stack,
/// at least a page and at most 256 KiB: a frame of that size cannot reach across it.
stack map_stack(std::size_t usable_bytes);
void unmap_stack(const stack&) noexcept;
/// How many more such stacks the process may map, beside `mapped` ones: by its limit of addresses (RLIMIT_AS), and by
/// vm.max_map_count where guards count. Others map, too, so it is an estimate.
std::size_t stacks_that_fit(std::size_t usable_bytes, std::size_t mapped) noexcept;
/// `asked` rounded up to whole pages.
std::size_t usable_stack_bytes(std::size_t asked) noexcept;
/// Gives the pages of an unused stack back to the kernel, but for those near its top, if it has many; likewise of the
/// stack on which it is called, below the caller. Returns what touched_bytes() was before.
std::size_t release_pages(const stack&) noexcept;
/// From the top down to the lowest page that was ever touched: what the kernel has given pages for. One
/// system call for 2 MB. Too much where it gives huge pages, too little for what was swapped out.
std::size_t touched_bytes(const stack&) noexcept;

} // namespace weft
