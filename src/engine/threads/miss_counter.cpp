#include "engine/threads/miss_counter.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::engine {

namespace {

int open_for_this_thread() noexcept {
    perf_event_attr what{};
    what.type = PERF_TYPE_HARDWARE;
    what.size = sizeof what;
    what.config = PERF_COUNT_HW_CACHE_REFERENCES;
    what.exclude_kernel = 1;
    what.exclude_hv = 1;
    return static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

} // namespace

bool miss_counter::can_be_had() noexcept {
    const int file = open_for_this_thread();
    if (file >= 0) close(file);
    return file >= 0;
}

miss_counter::miss_counter() noexcept : file_(open_for_this_thread()) {}

miss_counter::~miss_counter() {
    if (file_ >= 0) close(file_);
}

std::uint64_t miss_counter::read() const noexcept {
    std::uint64_t count = 0;
    if (file_ < 0 || ::read(file_, &count, sizeof count) != sizeof count) return 0;
    return count;
}

} // namespace weft::engine
