#include "engine/threads/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>

namespace weft::engine {

namespace {

using json = nlohmann::ordered_json;

double seconds(time_ns ns) noexcept { return static_cast<double>(ns) * 1e-9; }

json times(const tally::worker& w, time_ns whole) {
    return {{"busy", seconds(whole - w.idle)},
            {"search", seconds(w.idle - w.asleep)},
            {"asleep", seconds(w.asleep)}};
}

/// The part of the time at work in which the worker had its core.
double share_of(const tally::worker& w) noexcept {
    return static_cast<double>(w.used) / static_cast<double>(w.paced);
}

std::string percent(time_ns part, time_ns whole) {
    return whole > 0 ? fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole))
                     : std::string("-");
}

} // namespace

std::string thread_report::to_json() const {
    const time_ns all = run.elapsed() * static_cast<time_ns>(run.workers.size());
    json out{{"engine", "threads"},
             {"machine", machine},
             {"policy", policy},
             {"seed", seed},
             {"seconds", seconds(run.elapsed())},
             {"worker_seconds", times(run.total(), all)},
             {"callers", callers_work ? "work" : "wait"}};
    if (!misses_from.empty()) out["misses_from"] = misses_from;
    if (!instructions_from.empty()) out["instructions_from"] = instructions_from;
    if (!speeds.empty()) out["speed_scale"] = scale;
    json& each = out["workers"] = json::array();
    for (std::size_t r = 0; r < run.workers.size(); ++r) {
        const tally::worker& w = run.workers[r];
        json entry = times(w, run.elapsed());
        entry["tasks"] = w.tasks;
        entry["steals"] = w.steals;
        entry["exposures"] = w.exposures;
        if (changes_cores) {
            entry["exchanges"] = w.exchanges;
            entry["refused_exchanges"] = w.refused_exchanges;
        }
        if (!speeds.empty()) {
            entry["speed"] = speeds[r];
            entry["had_speed"] = w.paced > 0 ? json(share_of(w) / scale) : json(nullptr);
        }
        each.push_back(std::move(entry));
    }
    return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string thread_report::to_table() const {
    const time_ns whole = run.elapsed(), all = whole * static_cast<time_ns>(run.workers.size());
    const tally::worker sum = run.total();
    std::string text =
        fmt::format("machine   {}, {} workers, policy {}\n", machine, run.workers.size(), policy);
    const auto to_text = std::back_inserter(text);
    fmt::format_to(to_text, "time      {:.6f} s: busy {}, search {}, asleep {}\n", seconds(whole),
                   percent(all - sum.idle, all), percent(sum.idle - sum.asleep, all),
                   percent(sum.asleep, all));
    if (!callers_work)
        fmt::format_to(to_text, "callers   wait: the workers stay awake, have emulated speeds, or the policy "
                                "reads counters of their "
                                "threads\n");
    if (changes_cores)
        fmt::format_to(to_text, "exchanges {} of cores, {} refused\n", sum.exchanges / 2,
                       sum.refused_exchanges / 2);
    if (!speeds.empty()) {
        fmt::format_to(to_text,
                       "speeds    emulated, a speed of 1 is {:.1f} % of a core; asked (had):", 100 * scale);
        for (std::size_t r = 0; r < speeds.size(); ++r)
            if (const tally::worker& w = run.workers[r]; w.paced > 0)
                fmt::format_to(to_text, " {:.3g} ({:.3g})", speeds[r], share_of(w) / scale);
            else
                fmt::format_to(to_text, " {:.3g} (-)", speeds[r]);
        text += '\n';
    }
    fmt::format_to(to_text, "worker      busy   search   asleep    tasks   steals exposures\n");
    for (std::size_t r = 0; r < run.workers.size(); ++r) {
        const tally::worker& w = run.workers[r];
        fmt::format_to(to_text, "{:>6}{:>10}{:>9}{:>9}{:>9}{:>9}{:>10}\n", r, percent(whole - w.idle, whole),
                       percent(w.idle - w.asleep, whole), percent(w.asleep, whole), w.tasks, w.steals,
                       w.exposures);
    }
    return text;
}

} // namespace weft::engine
