#include "task/stack.hpp"

#include "task/sanitizers.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace weft {

namespace {

constexpr int madv_guard_install = 102;                         // Linux 6.13; older headers do not name it
constexpr std::size_t largest_guard = std::size_t{256} << 10;   ///< a larger one makes mapping a stack slower
constexpr std::size_t kept_when_unused = std::size_t{64} << 10; ///< what most tasks need

std::size_t page_bytes() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t round_up(std::size_t n, std::size_t unit) noexcept { return (n + unit - 1) / unit * unit; }

std::size_t guard_bytes_of(std::size_t usable) noexcept {
    return round_up(std::min(usable / 8, largest_guard), page_bytes());
}

/// A guard of this process is a mapping of its own: the kernel does not know MADV_GUARD_INSTALL.
constinit std::atomic<bool> guards_are_mappings{false};

/// The first number in a file of the kernel; none if it cannot be read.
std::optional<std::size_t> number_in(const char* file) noexcept {
    char text[32]{};
    const int from = open(file, O_RDONLY | O_CLOEXEC);
    if (from < 0) return {};
    const ssize_t bytes = ::read(from, text, sizeof text - 1);
    close(from);
    std::size_t number = 0;
    if (bytes <= 0 || std::from_chars(text, text + bytes, number).ec != std::errc{}) return {};
    return number;
}

} // namespace

std::size_t signal_frame_bytes() noexcept {
    constexpr std::size_t handler = 6 * 1024;
#ifdef AT_MINSIGSTKSZ
    const std::size_t frame = std::max<std::size_t>(getauxval(AT_MINSIGSTKSZ), 2048);
#else
    const std::size_t frame = 8192;
#endif
    return round_up(frame + handler, page_bytes());
}

std::size_t min_stack_bytes() noexcept { return round_up(signal_frame_bytes() + 18 * 1024, page_bytes()); }

std::size_t usable_stack_bytes(std::size_t asked) noexcept { return round_up(asked, page_bytes()); }

stack map_stack(std::size_t usable_bytes) {
    const std::size_t usable = usable_stack_bytes(usable_bytes);
    const std::size_t guard = guard_bytes_of(usable);
    const std::size_t bytes = usable + guard;
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (p == MAP_FAILED)
        throw error(fmt::format("cannot map a stack for a task ({})", std::strerror(errno)),
                    fmt::format("stack_bytes = {}", usable_bytes),
                    "a smaller WEFT_STACK or runtime_options::stack_bytes, or fewer tasks suspended at once "
                    "(a depth-first policy, a larger vm.max_map_count)");
    if (madvise(p, guard, madv_guard_install) != 0) {
        if (mprotect(p, guard, PROT_NONE) != 0) {
            const int reason = errno;
            munmap(p, bytes);
            throw error(fmt::format("cannot guard the stack of a task ({})", std::strerror(reason)),
                        fmt::format("stack_bytes = {}", usable_bytes),
                        "fewer tasks suspended at once (a depth-first policy), or a larger vm.max_map_count");
        }
        guards_are_mappings.store(true, std::memory_order_relaxed); // orders nothing
    }
    stack s{static_cast<std::byte*>(p), bytes, guard};
#ifdef WEFT_VALGRIND
    s.valgrind_id = VALGRIND_STACK_REGISTER(s.limit(), s.top());
#endif
    return s;
}

std::size_t stacks_that_fit(std::size_t usable_bytes, std::size_t mapped) noexcept {
    std::size_t fit = std::numeric_limits<std::size_t>::max();
    if (guards_are_mappings.load(std::memory_order_relaxed)) {
        const std::size_t most = number_in("/proc/sys/vm/max_map_count").value_or(65'530) / 2;
        fit = most - std::min(most, mapped);
    }
    rlimit addresses{};
    if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) {
        const std::size_t all = addresses.rlim_cur, usable = usable_stack_bytes(usable_bytes);
        const std::size_t taken = number_in("/proc/self/statm").value_or(0) * page_bytes();
        fit = std::min(fit, (all - std::min(all, taken)) / (usable + guard_bytes_of(usable)));
    }
    return fit;
}

void unmap_stack(const stack& s) noexcept {
    // The shadow memory still marks objects on this stack, and the next mapping may reuse its addresses.
    if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(s.base, s.mapped_bytes);
#ifdef WEFT_VALGRIND
    VALGRIND_STACK_DEREGISTER(s.valgrind_id);
#endif
    munmap(s.base, s.mapped_bytes);
}

std::size_t release_pages(const stack& s) noexcept {
    const std::size_t touched = touched_bytes(s);
    const std::byte here{};
    const bool runs_on_it = s.limit() <= &here && &here < s.top();
    const std::size_t used =
        runs_on_it ? round_up(static_cast<std::size_t>(s.top() - &here), page_bytes()) : 0;
    if (touched > used + 2 * kept_when_unused)
        madvise(s.top() - touched, touched - used - kept_when_unused,
                MADV_DONTNEED); // whole pages, all of them
    return touched;
}

std::size_t touched_bytes(const stack& s) noexcept {
    constexpr std::size_t pages_a_look = 512; // small: this, too, may run on a stack of the least size
    unsigned char is_there[pages_a_look];
    const std::size_t page = page_bytes();
    const sanitizer::unseen of_mincore; // it writes where the program had its variables
    for (std::byte* at = s.limit(); at < s.top();) {
        const std::size_t pages = std::min(static_cast<std::size_t>(s.top() - at) / page, pages_a_look);
        if (mincore(at, pages * page, is_there) != 0) return 0;
        const auto* const found =
            std::find_if(is_there, is_there + pages, [](unsigned char p) { return p & 1; });
        if (found != is_there + pages)
            return static_cast<std::size_t>(s.top() - at) - static_cast<std::size_t>(found - is_there) * page;
        at += pages * page;
    }
    return 0;
}

} // namespace weft
