#include "engine/threads/miss_counter.hpp"

#include <cstdint>

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::engine {

namespace {

/// A counter of the calling thread, or -1. `leader`: the first counter of its group; -1 makes it the first.
int open_counter(std::uint64_t what_it_counts, int leader) noexcept {
    perf_event_attr what{};
    what.type = PERF_TYPE_HARDWARE;
    what.size = sizeof what;
    what.config = what_it_counts;
    what.read_format = PERF_FORMAT_GROUP;
    what.exclude_kernel = 1;
    what.exclude_hv = 1;
    return static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, leader, PERF_FLAG_FD_CLOEXEC));
}

} // namespace

miss_counter::available miss_counter::available_here() noexcept {
    const miss_counter trial;
    return {trial.misses_ >= 0, trial.instructions_ >= 0};
}

miss_counter::miss_counter() noexcept
    : misses_(open_counter(PERF_COUNT_HW_CACHE_REFERENCES, -1))
    , instructions_(misses_ < 0 ? -1 : open_counter(PERF_COUNT_HW_INSTRUCTIONS, misses_)) {}

miss_counter::~miss_counter() {
    if (instructions_ >= 0) close(instructions_);
    if (misses_ >= 0) close(misses_);
}

task_counts miss_counter::read() const noexcept {
    struct {
        std::uint64_t counters, misses, instructions;
    } group{};
    if (misses_ < 0 || ::read(misses_, &group, sizeof group) <= 0) return {};
    return {group.misses, group.instructions};
}

} // namespace weft::engine
