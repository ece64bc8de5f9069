#include "engine/threads/thread_usage.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace weft::engine {

thread_usage::~thread_usage() {
    if (schedstat_ >= 0) close(schedstat_);
}

void thread_usage::follow(pthread_t thread, pid_t id) noexcept {
    // The number may be that of a thread which has ended: then its file cannot be read any more.
    if (id == id_ && queued()) return;
    if (schedstat_ >= 0) close(schedstat_);
    id_ = id;
    pthread_getcpuclockid(thread, &clock_); // fails for threads only that have ended
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/proc/self/task/%d/schedstat", static_cast<int>(id));
    schedstat_ = open(path.data(), O_RDONLY | O_CLOEXEC);
    if (schedstat_ >= 0 && !queued()) {
        close(schedstat_);
        schedstat_ = -1;
    }
}

time_ns thread_usage::cpu() const noexcept {
    timespec t{};
    clock_gettime(clock_, &t);
    return time_ns{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// Its file has three numbers: ns on a core, ns ready and on none, and how often it came onto one.
std::optional<time_ns> thread_usage::queued() const noexcept {
    if (schedstat_ < 0) return std::nullopt;
    std::array<char, 96> text{};
    const ssize_t length = pread(schedstat_, text.data(), text.size(), 0);
    if (length <= 0) return std::nullopt;
    const char *at = text.data(), *const end = at + length;
    std::array<time_ns, 3> numbers{};
    for (time_ns& n : numbers) {
        while (at < end && *at == ' ') ++at;
        const auto [behind, failure] = std::from_chars(at, end, n);
        if (failure != std::errc{}) return std::nullopt;
        at = behind;
    }
    // A kernel that does not count says that a thread which runs has never come onto a core.
    if (numbers[2] == 0) return std::nullopt;
    return numbers[1];
}

} // namespace weft::engine
