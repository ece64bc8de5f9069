#include "share/process_clock.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace weft::share {

namespace {

std::int64_t ns_of(clockid_t clock) noexcept {
    timespec t{};
    clock_gettime(clock, &t);
    return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

std::int64_t start_in(const char* path) noexcept {
    std::array<char, 1024> buffer{};
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const ssize_t length = ::read(file, buffer.data(), buffer.size());
    close(file);
    if (length <= 0) return 0;
    std::string_view text(buffer.data(), static_cast<std::size_t>(length));
    // The second field, the name, may contain blanks and brackets; the third one is behind its last bracket.
    text.remove_prefix(std::min(text.rfind(')') + 1, text.size()));
    for (int field = 3; field <= 22; ++field) {
        const auto blank = text.find(' ');
        if (blank == std::string_view::npos) return 0;
        text.remove_prefix(blank + 1);
    }
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

} // namespace

std::int64_t monotonic_ns() noexcept { return ns_of(CLOCK_MONOTONIC); }
std::int64_t processor_ns() noexcept { return ns_of(CLOCK_PROCESS_CPUTIME_ID); }

std::int64_t start_ticks() noexcept { return start_in("/proc/self/stat"); }

std::int64_t start_ticks_of(std::int64_t pid) noexcept {
    std::array<char, 40> path{};
    std::snprintf(path.data(), path.size(), "/proc/%lld/stat", static_cast<long long>(pid));
    return start_in(path.data());
}

} // namespace weft::share
