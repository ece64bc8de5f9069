#include "runtime/affinity.hpp"
#include "runtime/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>

/// OMP_DISPLAY_ENV and omp_display_env(); KMP_SETTINGS.
namespace weft::openmp {

namespace {

const char* name_of(binding b) {
    switch (b) {
    case binding::off: return "FALSE";
    case binding::on: return "TRUE";
    case binding::primary: return "PRIMARY";
    case binding::close: return "CLOSE";
    case binding::spread: break;
    }
    return "SPREAD";
}

const char* name_of(schedule_kind k) {
    switch (k) {
    case schedule_kind::by_static: return "STATIC";
    case schedule_kind::by_dynamic: return "DYNAMIC";
    case schedule_kind::by_guided: return "GUIDED";
    case schedule_kind::by_trapezoid: return "TRAPEZOIDAL";
    case schedule_kind::by_auto: break;
    }
    return "AUTO";
}

const char* truth(bool b) { return b ? "TRUE" : "FALSE"; }

} // namespace

void display_settings(bool verbose) {
    const process_settings& s = settings();
    const task_settings& t = s.first;
    std::string out = "\nOPENMP DISPLAY ENVIRONMENT BEGIN\n";
    const auto line = [&](const char* name, const std::string& value) {
        out += fmt::format("  {} = '{}'\n", name, value);
    };
    line("_OPENMP", "201511");
    line("OMP_DYNAMIC", truth(t.dynamic));
    line("OMP_NESTED", truth(t.max_active_levels > 1));
    line("OMP_NUM_THREADS", s.threads_of_level.empty()
                                ? std::to_string(t.threads)
                                : fmt::format("{}", fmt::join(s.threads_of_level, ",")));
    std::string schedule = t.run_schedule.kind == schedule_kind::by_static
                               ? (t.run_schedule.monotonic ? "" : "NONMONOTONIC:")
                               : (t.run_schedule.monotonic ? "MONOTONIC:" : "");
    schedule += name_of(t.run_schedule.kind);
    if (t.run_schedule.chunk > 1 ||
        (t.run_schedule.kind == schedule_kind::by_static && t.run_schedule.chunk == 1))
        schedule += fmt::format(",{}", t.run_schedule.chunk);
    line("OMP_SCHEDULE", schedule);
    std::string bindings = name_of(t.bind);
    for (std::size_t i = 1; i < s.bind_of_level.size(); ++i)
        bindings += fmt::format(",{}", name_of(s.bind_of_level[i]));
    line("OMP_PROC_BIND", bindings);
    std::string all_places;
    for (const auto& p : places())
        all_places += fmt::format("{}{{{}}}", all_places.empty() ? "" : ",", fmt::join(p, ","));
    line("OMP_PLACES", all_places);
    line("OMP_STACKSIZE", std::to_string(s.stack_bytes));
    line("OMP_WAIT_POLICY", s.wait_policy == process_settings::waiting::active ? "ACTIVE" : "PASSIVE");
    line("OMP_THREAD_LIMIT", std::to_string(t.thread_limit));
    line("OMP_MAX_ACTIVE_LEVELS", std::to_string(t.max_active_levels));
    line("OMP_NUM_TEAMS", std::to_string(s.teams));
    line("OMP_TEAMS_THREAD_LIMIT", std::to_string(s.teams_thread_limit));
    line("OMP_CANCELLATION", truth(s.cancellation));
    line("OMP_DEFAULT_DEVICE", std::to_string(t.default_device));
    line("OMP_MAX_TASK_PRIORITY", std::to_string(s.max_task_priority));
    line("OMP_DISPLAY_AFFINITY", truth(s.displays_affinity));
    line("OMP_AFFINITY_FORMAT", s.affinity_format);
    line("OMP_ALLOCATOR", std::to_string(t.allocator));
    line("OMP_TARGET_OFFLOAD", s.offload == process_settings::offloading::mandatory  ? "MANDATORY"
                               : s.offload == process_settings::offloading::disabled ? "DISABLED"
                                                                                     : "DEFAULT");
    if (verbose)
        for (const char* const name : {"WEFT_WORKERS", "WEFT_SPIN"})
            if (const char* const given = std::getenv(name)) line(name, given);
    out += "OPENMP DISPLAY ENVIRONMENT END\n";
    std::fputs(out.c_str(), stderr);
}

void display_kmp_settings() {
    const process_settings& s = settings();
    std::string out = "\nEffective settings:\n\n";
    const auto line = [&](const char* name, const std::string& value) {
        out += fmt::format("   {}={}\n", name, value);
    };
    line("KMP_BLOCKTIME", std::to_string(s.block_milliseconds));
    line("KMP_ENABLE_TASK_THROTTLING", s.throttles_tasks ? "true" : "false");
    line("OMP_NUM_THREADS", std::to_string(s.first.threads));
    line("OMP_PLACES", fmt::format("'{}'", places_text()));
    line("OMP_PROC_BIND", fmt::format("'{}'", name_of(s.first.bind)));
    line("OMP_STACKSIZE", std::to_string(s.stack_bytes));
    std::fputs((out + "\n").c_str(), stderr);
}

} // namespace weft::openmp
