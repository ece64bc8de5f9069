#include "engine/threads/report.hpp"

#include "engine/threads/worker_times.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>

namespace weft::engine {

std::string thread_report::to_json() const {
    nlohmann::ordered_json out{{"engine", "threads"},
                               {"machine", machine},
                               {"policy", policy},
                               {"seed", seed},
                               {"seconds", in_seconds(run.elapsed())},
                               {"callers", callers_work ? "work" : "wait"}};
    if (!misses_from.empty()) out["misses_from"] = misses_from;
    if (!instructions_from.empty()) out["instructions_from"] = instructions_from;
    if (!speeds.empty()) out["speed_scale"] = scale;
    put_workers(out, *this);
    return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string thread_report::to_table() const {
    const time_ns whole = run.elapsed(), all = whole * static_cast<time_ns>(run.workers.size());
    const tally::worker sum = run.total();
    std::string text =
        fmt::format("machine   {}, {} workers, policy {}\n", machine, run.workers.size(), policy);
    const auto to_text = std::back_inserter(text);
    fmt::format_to(to_text, "time      {:.6f} s: busy {}, search {}, asleep {}\n", in_seconds(whole),
                   percent_of(all, all - sum.idle), percent_of(all, sum.idle - sum.asleep),
                   percent_of(all, sum.asleep));
    text += busy_line(*this);
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
                fmt::format_to(to_text, " {:.3g} ({:.3g})", speeds[r], had_share(w) / scale);
            else
                fmt::format_to(to_text, " {:.3g} (-)", speeds[r]);
        text += '\n';
    }
    return text + worker_table(*this);
}

} // namespace weft::engine
