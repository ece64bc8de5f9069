#include "engine/threads/total_report.hpp"

#include "engine/observe/choices_report.hpp"
#include "engine/threads/worker_times.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>

namespace weft::engine {

std::string total_report::to_json() const {
    const run_figures& f = figures;
    nlohmann::ordered_json out{{"runs", runs},
                               {"last_is_open", last_is_open},
                               {"seconds", in_seconds(f.span)},
                               {"in_runs", in_seconds(f.in_runs)},
                               {"outside", in_seconds(f.outside)},
                               {"outside_cpu", in_seconds(f.outside_cpu)},
                               {"recording", in_seconds(recording)},
                               {"process",
                                {{"minor_faults", minor_faults},
                                 {"major_faults", f.pages_read},
                                 {"voluntary_switches", voluntary_switches},
                                 {"involuntary_switches", involuntary_switches}}}};
    if (!all.parts.empty()) {
        out["worker_threads"] = {{"cpu", in_seconds(f.cpu)}};
        out["worker_threads"]["queued"] =
            f.queued ? nlohmann::ordered_json(in_seconds(*f.queued)) : nlohmann::ordered_json(nullptr);
        out["other_threads"] = {{"cpu", in_seconds(f.other_cpu)}};
    }
    put_workers(out, all);
    if (!choices.memory.empty()) out["choices"] = choices_json(choices);
    out["notes"] = notes_on(f);
    return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string total_report::to_table() const {
    const run_figures& f = figures;
    const tally::worker sum = all.run.total();
    const time_ns workers_time = f.in_runs * f.workers;
    std::string text =
        fmt::format("time      {:.6f} s: in {} {} {}, outside of runs {}, making reports {}\n",
                    in_seconds(f.span), runs, runs == 1 ? "run" : "runs", percent_of(f.span, f.in_runs),
                    percent_of(f.span, f.outside), percent_of(f.span, recording));
    const auto to_text = std::back_inserter(text);
    if (last_is_open) text += "          the last run had not ended\n";
    if (f.outside > 0)
        fmt::format_to(to_text,
                       "outside   {:.6f} s; the program's threads had {:.6f} s of processor time in it\n",
                       in_seconds(f.outside), in_seconds(f.outside_cpu));
    fmt::format_to(to_text, "in runs   busy {}, search {}, asleep {}\n",
                   percent_of(workers_time, workers_time - sum.idle),
                   percent_of(workers_time, sum.idle - sum.asleep), percent_of(workers_time, sum.asleep));
    text += busy_line(all);
    fmt::format_to(
        to_text,
        "process   {} voluntary and {} involuntary switches, {} page faults, {} of them with a page read\n",
        voluntary_switches, involuntary_switches, minor_faults + f.pages_read, f.pages_read);
    text += choices_table(choices);
    text += worker_table(all, span_of_runs{f.span, f.outside});
    for (const std::string& note : notes_on(f)) text += "note: " + note + '\n';
    return text;
}

} // namespace weft::engine
