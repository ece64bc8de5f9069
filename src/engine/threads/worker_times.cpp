#include "engine/threads/worker_times.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <utility>

namespace weft::engine {

namespace {

using times_json = nlohmann::ordered_json;

busy_parts sum_of(const std::vector<busy_parts>& parts) noexcept {
    busy_parts sum{.waiting = 0};
    for (const busy_parts& p : parts) sum.add(p);
    return sum;
}

times_json counts_of(const thread_report& r, std::size_t rank) {
    const tally::worker& w = r.run.workers[rank];
    times_json counts{{"tasks", w.tasks}, {"steals", w.steals}, {"exposures", w.exposures}};
    if (r.changes_cores) {
        counts["exchanges"] = w.exchanges;
        counts["refused_exchanges"] = w.refused_exchanges;
    }
    if (!r.speeds.empty()) {
        counts["speed"] = r.speeds[rank];
        counts["had_speed"] = w.paced > 0 ? times_json(had_share(w) / r.scale) : times_json(nullptr);
    }
    return counts;
}

} // namespace

double had_share(const tally::worker& w) noexcept {
    return static_cast<double>(w.used) / static_cast<double>(w.paced);
}

double in_seconds(time_ns ns) noexcept { return static_cast<double>(ns) * 1e-9; }

std::string percent_of(time_ns whole, time_ns part) {
    return whole > 0 ? fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole))
                     : std::string("-");
}

std::string_view divided(const thread_report& r) noexcept {
    if (!r.parts.empty()) return sum_of(r.parts).waiting ? "yes" : "without waiting";
    if (!r.speeds.empty()) return "no: speeds";
    return r.preempts ? "no: preemption" : "no: not read";
}

times_json times_of(const tally::worker& w, time_ns whole, const busy_parts* parts) {
    times_json t{{"busy", in_seconds(whole - w.idle)},
                 {"search", in_seconds(w.idle - w.asleep)},
                 {"asleep", in_seconds(w.asleep)}};
    if (!parts) return t;
    t["on_core"] = in_seconds(parts->on_core);
    t["waiting"] = parts->waiting ? times_json(in_seconds(*parts->waiting)) : times_json(nullptr);
    t["blocked"] = in_seconds(parts->blocked);
    t["uncertain"] = in_seconds(parts->uncertain);
    return t;
}

void put_workers(times_json& to, const thread_report& r) {
    const time_ns whole = r.run.elapsed();
    const busy_parts sum = sum_of(r.parts);
    to["divided"] = divided(r);
    to["worker_seconds"] = times_of(r.run.total(), whole * static_cast<time_ns>(r.run.workers.size()),
                                    r.parts.empty() ? nullptr : &sum);
    times_json& each = to["workers"] = times_json::array();
    for (std::size_t i = 0; i < r.run.workers.size(); ++i) {
        times_json entry = times_of(r.run.workers[i], whole, r.parts.empty() ? nullptr : &r.parts[i]);
        entry.update(counts_of(r, i));
        each.push_back(std::move(entry));
    }
}

std::string busy_line(const thread_report& r) {
    if (!r.parts.empty()) {
        const time_ns all = r.run.elapsed() * static_cast<time_ns>(r.run.workers.size());
        const busy_parts sum = sum_of(r.parts);
        const std::string off_core =
            sum.waiting
                ? fmt::format("waiting for a core {}, blocked in the kernel {}",
                              percent_of(all, *sum.waiting), percent_of(all, sum.blocked))
                : fmt::format("waiting for a core or blocked in the kernel {}", percent_of(all, sum.blocked));
        return fmt::format("busy      on a core {}, {}; each may be wrong by {}\n",
                           percent_of(all, sum.on_core), off_core, percent_of(all, sum.uncertain));
    }
    if (!r.speeds.empty())
        return "busy      not divided: with emulated speeds workers pause while they are busy\n";
    if (r.preempts) return "busy      not divided: where tasks are preempted, workers change their threads\n";
    return "";
}

std::string worker_table(const thread_report& r, std::optional<span_of_runs> in) {
    const time_ns run = r.run.elapsed(), whole = in ? in->span : run;
    const bool has_parts = !r.parts.empty();
    std::string text = "worker      busy";
    const auto to_text = std::back_inserter(text);
    if (has_parts) text += "  on core  waiting  blocked";
    text += "   search   asleep";
    if (in) text += "  outside";
    text += "    tasks   steals exposures\n";
    for (std::size_t i = 0; i < r.run.workers.size(); ++i) {
        const tally::worker& w = r.run.workers[i];
        fmt::format_to(to_text, "{:>6}{:>10}", i, percent_of(whole, run - w.idle));
        if (has_parts) {
            const busy_parts& p = r.parts[i];
            fmt::format_to(to_text, "{:>9}{:>9}{:>9}", percent_of(whole, p.on_core),
                           p.waiting ? percent_of(whole, *p.waiting) : "?", percent_of(whole, p.blocked));
        }
        fmt::format_to(to_text, "{:>9}{:>9}", percent_of(whole, w.idle - w.asleep),
                       percent_of(whole, w.asleep));
        if (in) fmt::format_to(to_text, "{:>9}", percent_of(whole, in->outside));
        fmt::format_to(to_text, "{:>9}{:>9}{:>10}\n", w.tasks, w.steals, w.exposures);
    }
    return text;
}

} // namespace weft::engine
