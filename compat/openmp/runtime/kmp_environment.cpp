#include "runtime/affinity.hpp"
#include "runtime/environment.hpp"
#include "runtime/wait.hpp"

#include <chrono>
#include <limits>

/// The variables of libomp that programs and their users rely on. Others have no effect.
namespace weft::openmp {

namespace {

/// KMP_AFFINITY=[modifier,]...type: places of a granularity, in a row or spread. OMP_PLACES and OMP_PROC_BIND go before it.
void read_kmp_affinity(process_settings& s) {
    const auto v = variable("KMP_AFFINITY");
    if (!v) return;
    std::string level = "cores";
    binding how = binding::off;
    for (const std::string& part : parts_of(lower(*v))) {
        if (part == "reset")
            s.resets_affinity = true;
        else if (part == "granularity=thread" || part == "granularity=fine")
            level = "threads";
        else if (part == "granularity=socket" || part == "granularity=package")
            level = "sockets";
        else if (part == "compact")
            how = binding::close;
        else if (part == "scatter" || part == "balanced")
            how = binding::spread;
    }
    if (how == binding::off || s.first.bind != binding::off || !places_text().empty()) return;
    if (read_places(level)) s.first.bind = how;
}

} // namespace

void read_kmp(process_settings& s) {
    if (const auto v = variable("KMP_BLOCKTIME")) {
        if (lower(*v) == "infinite")
            s.block_milliseconds = std::numeric_limits<int>::max();
        else if (read_number("KMP_BLOCKTIME", s.block_milliseconds, 0, std::numeric_limits<int>::max()) &&
                 s.block_milliseconds == 0)
            set_patience(std::chrono::nanoseconds(0));
    }
    if (const auto v = variable("KMP_ENABLE_TASK_THROTTLING"))
        s.throttles_tasks = *v != "0" && lower(*v) != "false";
    if (const auto v = variable("KMP_SETTINGS")) s.displays_settings = *v != "0" && lower(*v) != "false";
    if (const auto v = variable("KMP_TEAMS_PROC_BIND")) {
        if (const auto b = binding_named(lower(*v)))
            s.teams_bind = *b;
        else
            refuse("KMP_TEAMS_PROC_BIND", *v, "spread, close, primary");
    }
    read_kmp_affinity(s);
    // Loops have as many records as they need; libomp says what it thinks of the number.
    constexpr long least_buffers = 1, most_buffers = 4096;
    if (const auto v = variable("KMP_DISP_NUM_BUFFERS"))
        if (const auto n = number_of(*v); !n || *n < least_buffers || *n > most_buffers)
            refuse("KMP_DISP_NUM_BUFFERS", *v,
                   n && *n < least_buffers ? "1 to 4096; it is too small" : "1 to 4096; it is too large");
}

std::string named_level(const std::string& text) {
    const std::string t = lower(text);
    for (const char* name : {"sockets", "threads", "numa_domains", "ll_caches"})
        if (t.starts_with(name)) return name;
    return "cores";
}

} // namespace weft::openmp
