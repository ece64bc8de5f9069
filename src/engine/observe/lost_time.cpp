#include "engine/observe/lost_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

namespace weft::engine {

namespace {

struct loss {
    double time = 0; ///< of one worker
    std::string note;
};

double ratio(time_ns part, time_ns whole) noexcept {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string in_percent(double part) { return fmt::format("{:.0f} %", 100 * part); }

/// Why the workers had to wait for cores.
std::string takers_of_cores(const run_figures& f) {
    if (f.workers > f.cores)
        return fmt::format("there are {} workers for {} {}: use as many workers as cores", f.workers, f.cores,
                           f.cores == 1 ? "core" : "cores");
    // Most of what the workers missed was used by the program itself, and it left little of the cores to others.
    constexpr double nearly_all = 0.9;
    const bool took_it = static_cast<double>(f.other_cpu) >= 0.5 * static_cast<double>(f.queued.value_or(0));
    if (took_it && ratio(f.cpu + f.other_cpu, f.in_runs * f.cores) >= nearly_all)
        return "threads of this program that are no workers used the cores (the thread that calls a region "
               "of OpenMP "
               "is one, and a member of its team): use fewer workers, or make tasks of what those threads do";
    return "other programs used the cores, or the control group's quota of processor time was used up. The "
           "times do not show what the program can do";
}

void note_outside(const run_figures& f, std::vector<loss>& losses) {
    const double part = ratio(f.outside, f.span);
    if (part < least_outside) return;
    const double cores = ratio(f.outside_cpu, f.outside);
    const std::string why =
        cores >= 0.5
            ? "code between the loops ran on the calling thread alone. Run it in parallel as well, or in one "
              "run() with work for the other workers"
            : fmt::format(
                  "the program had a core for {} of that time. It was waiting (sleep, input and output, "
                  "other threads), or other programs had the cores",
                  in_percent(cores));
    losses.push_back({static_cast<double>(f.outside) * f.workers,
                      fmt::format("{} of the time was outside of runs, between the parallel parts, where the "
                                  "workers have nothing to do: {}",
                                  in_percent(part), why)});
}

void note_waiting(const run_figures& f, std::vector<loss>& losses) {
    if (!f.queued) return;
    const double part = ratio(*f.queued, f.cpu + *f.queued);
    if (part < least_waiting || ratio(*f.queued, f.in_runs * f.workers) < least_waiting / 2) return;
    losses.push_back(
        {static_cast<double>(*f.queued),
         fmt::format("the workers did not get {} of the time in which they were ready to run: {}",
                     in_percent(part), takers_of_cores(f))});
}

void note_blocked(const run_figures& f, std::vector<loss>& losses) {
    if (!f.blocked || !f.queued) return; // else it may be time that they waited for a core
    const time_ns all = f.in_runs * f.workers;
    const time_ns at_least = *f.blocked - f.blocked_uncertain.value_or(0);
    if (ratio(*f.blocked, all) < least_blocked || ratio(at_least, all) < least_blocked / 2) return;
    constexpr time_ns cost_of_a_page = 100'000; // of a fast disk
    const bool reads = static_cast<time_ns>(f.pages_read) * cost_of_a_page >= *f.blocked / 20;
    losses.push_back(
        {static_cast<double>(*f.blocked),
         fmt::format(
             "tasks were blocked in the kernel for {} of the workers' time (a std::mutex, sleep, input "
             "and output{}): with weft::mutex and weft::this_task::sleep_for a worker runs other tasks "
             "meanwhile; for other calls use more workers than cores. Tasks that hold one lock for most "
             "of their time run one after the other with any lock",
             in_percent(ratio(*f.blocked, all)),
             reads ? fmt::format("; {} pages were read from a disk", f.pages_read) : "")});
}

void note_idle(const run_figures& f, std::vector<loss>& losses) {
    const double part = ratio(f.idle, f.in_runs * f.workers);
    if (!f.all_active || part < least_idle) return;
    losses.push_back(
        {static_cast<double>(f.idle),
         fmt::format("the workers had no work for {} of their time in runs: there were too few tasks, one "
                     "was too long, or tasks waited (for each other, for a time). A trace shows which (weft "
                     "run --trace "
                     "FILE, then weft analyze FILE)",
                     in_percent(part))});
}

} // namespace

std::vector<std::string> notes_on(const run_figures& f) {
    if (f.span < least_span_of_notes) return {};
    std::vector<loss> losses;
    for (const auto note : {note_outside, note_waiting, note_blocked, note_idle}) note(f, losses);
    std::ranges::stable_sort(losses, std::greater{}, &loss::time);
    losses.resize(std::min(losses.size(), most_notes));
    std::vector<std::string> notes;
    for (loss& l : losses) notes.push_back(std::move(l.note));
    return notes;
}

} // namespace weft::engine
