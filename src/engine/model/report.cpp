#include "engine/model/report.hpp"

#include "engine/observe/choices_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace weft::engine {

namespace {

using json = nlohmann::ordered_json;

constexpr const char* names[activities] = {"compute", "private_stall", "shared_stall",  "overhead",
                                           "search",  "asleep",        "waits_for_core"};

double seconds_of(time_ns ns) noexcept { return static_cast<double>(ns) * 1e-9; }
std::size_t index(activity a) noexcept { return static_cast<std::size_t>(a); }

json traffic_json(const numa_memory::traffic& t) {
    return {{"local_bytes", t.local}, {"remote_bytes", t.remote}, {"forwarded_bytes", t.forwarded}};
}

void subtract(numa_memory::traffic& from, const numa_memory::traffic& t) noexcept {
    from.local -= t.local;
    from.remote -= t.remote;
    from.forwarded -= t.forwarded;
}

double megabytes(std::uint64_t bytes) noexcept { return static_cast<double>(bytes) * 1e-6; }

json levels_json(const std::vector<numa_memory::level_count>& levels) {
    json out = json::array();
    for (std::size_t k = 0; k < levels.size(); ++k)
        out.push_back({{"level", k + 1}, {"accesses", levels[k].accesses}, {"misses", levels[k].misses}});
    return out;
}

std::vector<numa_memory::level_count> all_levels(const std::vector<model_report::worker>& workers) {
    std::vector<numa_memory::level_count> sum;
    for (const auto& w : workers) {
        sum.resize(std::max(sum.size(), w.memory.levels.size()));
        for (std::size_t k = 0; k < w.memory.levels.size(); ++k) {
            sum[k].accesses += w.memory.levels[k].accesses;
            sum[k].misses += w.memory.levels[k].misses;
        }
    }
    return sum;
}

/// GB/s.
double used(std::uint64_t bytes, double seconds) {
    return seconds > 0 ? static_cast<double>(bytes) * 1e-9 / seconds : 0;
}
double used(const model_report::node& n, double seconds) {
    return used(n.bytes.local + n.bytes.remote, seconds);
}

std::string percent(double part, double whole) {
    return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : std::string("-");
}

std::size_t shown(const model_report& r) noexcept { return r.shares_cores ? activities : activities_alone; }

} // namespace

time_ns model_report::total(activity a) const noexcept {
    time_ns sum = 0;
    for (const worker& w : workers) sum += w.spent[index(a)];
    return sum;
}

time_ns model_report::user_time() const noexcept {
    return total(activity::compute) + total(activity::private_stall) + total(activity::shared_stall);
}

model_report model_report::since(const model_report& earlier) const {
    model_report d = *this;
    d.began = earlier.ended;
    d.events -= earlier.events;
    d.invalidations -= earlier.invalidations;
    for (std::size_t i = 0; i < d.workers.size(); ++i) {
        worker& w = d.workers[i];
        const worker& before = earlier.workers[i];
        for (std::size_t a = 0; a < activities; ++a) w.spent[a] -= before.spent[a];
        w.tasks -= before.tasks;
        w.steals -= before.steals;
        w.exposures -= before.exposures;
        w.exchanges -= before.exchanges;
        w.refused_exchanges -= before.refused_exchanges;
        subtract(w.memory.memory, before.memory.memory);
        for (std::size_t k = 0; k < w.memory.levels.size(); ++k) {
            w.memory.levels[k].accesses -= before.memory.levels[k].accesses;
            w.memory.levels[k].misses -= before.memory.levels[k].misses;
        }
    }
    for (std::size_t n = 0; n < d.nodes.size(); ++n) subtract(d.nodes[n].bytes, earlier.nodes[n].bytes);
    for (std::size_t k = 0; k < d.disks.size(); ++k) d.disks[k].bytes -= earlier.disks[k].bytes;
    for (const auto& [distance, count] : earlier.steals_by_distance) d.steals_by_distance[distance] -= count;
    std::erase_if(d.steals_by_distance, [](const auto& s) { return s.second == 0; });
    return d;
}

std::string model_report::to_json() const {
    json out{{"engine", "model"},
             {"machine", machine},
             {"policy", policy},
             {"seed", seed},
             {"seconds", seconds()},
             {"events", events},
             {"costs", measured ? "measured" : "declared"}};
    json& known = out["figures"] = json::array();
    for (const figure& f : figures)
        known.push_back({{"figure", f.name},
                         {"value", f.value ? json(*f.value) : json(nullptr)},
                         {"source", name_of(f.source)}});
    if (!calibrated_on.empty()) out["calibrated_on"] = calibrated_on;
    if (!misses_from.empty()) out["misses_from"] = misses_from;
    if (!instructions_from.empty()) out["instructions_from"] = instructions_from;
    if (!choices.memory.empty()) out["choices"] = choices_json(choices);
    json& time = out["worker_seconds"];
    for (std::size_t a = 0; a < shown(*this); ++a)
        time[names[a]] = seconds_of(total(static_cast<activity>(a)));
    out["caches"] = levels_json(all_levels(workers));
    out["invalidations"] = invalidations;
    json& memory = out["memory_nodes"] = json::array();
    for (const node& n : nodes) {
        json entry = traffic_json(n.bytes);
        entry["used_gbps"] = used(n, seconds());
        entry["bandwidth_gbps"] = std::isfinite(n.bandwidth_gbps) ? json(n.bandwidth_gbps) : json(nullptr);
        memory.push_back(std::move(entry));
    }
    if (!disks.empty()) out["disks"] = json::array();
    for (const disk& d : disks)
        out["disks"].push_back({{"name", d.name},
                                {"bytes", d.bytes},
                                {"used_gbps", used(d.bytes, seconds())},
                                {"bandwidth_gbps", d.bandwidth_gbps}});
    json& steals = out["steals_by_distance"] = json::array();
    for (const auto& [distance, count] : steals_by_distance)
        steals.push_back({{"distance", distance}, {"steals", count}});
    json& each = out["workers"] = json::array();
    for (const worker& w : workers) {
        json entry = json::object();
        for (std::size_t a = 0; a < shown(*this); ++a) entry[names[a]] = seconds_of(w.spent[a]);
        entry["tasks"] = w.tasks;
        entry["steals"] = w.steals;
        entry["exposures"] = w.exposures;
        if (changes_cores) {
            entry["exchanges"] = w.exchanges;
            entry["refused_exchanges"] = w.refused_exchanges;
        }
        entry.update(traffic_json(w.memory.memory));
        entry["caches"] = levels_json(w.memory.levels);
        each.push_back(std::move(entry));
    }
    return out.dump();
}

std::string model_report::to_table() const {
    std::string text;
    const auto line = [&]<class... T>(fmt::format_string<T...> format, T&&... values) {
        fmt::format_to(std::back_inserter(text), format, std::forward<T>(values)...);
        text += '\n';
    };
    const double all = seconds() * static_cast<double>(workers.size());
    line("machine   {}, {} workers, policy {}", machine, workers.size(), policy);
    line("makespan  {:.6f} s of virtual time, {} events, costs {}", seconds(), events,
         measured ? "measured (another run may differ)" : "declared");
    for (const figure_source from : {figure_source::calibrated, figure_source::typical, figure_source::none})
        if (const std::string them = describe(figures, from); !them.empty())
            line("{:<9} {}", from == figure_source::none ? "free" : name_of(from),
                 them + (from == figure_source::calibrated ? ", on " + calibrated_on : ""));
    line("time      compute {}, private stall {}, shared stall {}, overhead {}, search {}, asleep {}",
         percent(seconds_of(total(activity::compute)), all),
         percent(seconds_of(total(activity::private_stall)), all),
         percent(seconds_of(total(activity::shared_stall)), all),
         percent(seconds_of(total(activity::overhead)), all),
         percent(seconds_of(total(activity::search)), all),
         percent(seconds_of(total(activity::asleep)), all));
    if (shares_cores)
        line("beside    other programs; waits for a core {}",
             percent(seconds_of(total(activity::waits_for_core)), all));
    text += choices_table(choices);
    const auto levels = all_levels(workers);
    for (std::size_t k = 0; k < levels.size(); ++k)
        if (levels[k].accesses > 0)
            line("L{}        {} lines, {} missed ({})", k + 1, levels[k].accesses, levels[k].misses,
                 percent(static_cast<double>(levels[k].misses), static_cast<double>(levels[k].accesses)));
    for (std::size_t n = 0; n < nodes.size(); ++n)
        line("node {}    {:.3f} MB local, {:.3f} MB remote, {:.3f} MB forwarded, {:.3f} GB/s{}", n,
             megabytes(nodes[n].bytes.local), megabytes(nodes[n].bytes.remote),
             megabytes(nodes[n].bytes.forwarded), used(nodes[n], seconds()),
             std::isfinite(nodes[n].bandwidth_gbps)
                 ? " of " + fmt::format("{}", nodes[n].bandwidth_gbps) + " (" +
                       percent(used(nodes[n], seconds()), nodes[n].bandwidth_gbps) + ")"
                 : std::string());
    for (const disk& d : disks)
        line("disk {}  {:.3f} MB, {:.3f} GB/s of {} ({})", d.name, megabytes(d.bytes),
             used(d.bytes, seconds()), d.bandwidth_gbps, percent(used(d.bytes, seconds()), d.bandwidth_gbps));
    for (const auto& [distance, count] : steals_by_distance)
        line("steals    {} at distance {:g}", count, distance);
    if (changes_cores) {
        std::uint64_t done = 0, refused = 0;
        for (const worker& w : workers) done += w.exchanges, refused += w.refused_exchanges;
        line("exchanges {} of cores, {} refused", done / 2, refused / 2);
    }
    line("worker     compute  private   shared overhead   search   asleep    tasks   steals  local MB remote "
         "MB");
    for (std::size_t r = 0; r < workers.size(); ++r) {
        const worker& w = workers[r];
        text += fmt::format("{:>6}", r);
        for (std::size_t a = 0; a < activities_alone; ++a)
            text += fmt::format("{:>{}}", percent(seconds_of(w.spent[a]), seconds()), a == 0 ? 12 : 9);
        line("{:>9}{:>9}{:>10.2f}{:>10.2f}", w.tasks, w.steals, megabytes(w.memory.memory.local),
             megabytes(w.memory.memory.remote));
    }
    return text;
}

} // namespace weft::engine
