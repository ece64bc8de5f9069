#include "engine/model/program_placer.hpp"

#include "engine/model/model_engine.hpp"
#include "engine/model/simulation.hpp"
#include "machine/domains.hpp"
#include "share/core_shares.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

namespace weft::engine {

program_placer::program_placer(simulation& of, placing_options o) : of_(of), options_(std::move(o)) {
    const weft::domains by_cache(of.machine, domain_kind::last_level_cache);
    for (int d = 0; d < by_cache.count(); ++d) {
        const rank_range ranks = by_cache.ranks(d);
        domains_.push_back(ranks.size());
        for (int r = ranks.first; r < ranks.last; ++r) cores_.push_back(r);
    }
    for (model_engine* const e : of.engines) programs_.push_back({.engine = e});
    for (const std::size_t given : {options_.rates.size(), options_.fixed.size()})
        if (given != 0 && given != programs_.size())
            throw error("rates, or domains, of another number of programs", std::to_string(given),
                        fmt::format("{}, or none", programs_.size()));
    if (options_.period <= 0 || options_.counter_period < 0)
        throw error("a period in which programs are placed", std::to_string(options_.period), "1 ns or more");
    if (options_.most_cores < 0)
        throw error("a number of cores for a program", std::to_string(options_.most_cores),
                    "1 or more, or 0: no limit");
    if (options_.hysteresis < 0)
        throw error("the hysteresis is negative", fmt::format("{} ns", options_.hysteresis), "0 or more");
    if (options_.scheduler == share::scheduler::lira_static && options_.rates.empty() &&
        options_.fixed.empty())
        throw error("lira-static places programs by rates that were measured before", "no rates",
                    fmt::format("rates of all {} programs, each measured alone on one last-level cache; or "
                                "lira-adaptive, which counts them",
                                programs_.size()));
    for (std::size_t i = 0; i < options_.rates.size(); ++i) programs_[i].rate = options_.rates[i];
    for (const int d : options_.fixed)
        if (d < 0 || d >= by_cache.count())
            throw error("a program is on a last-level cache that there is not", std::to_string(d),
                        fmt::format("0 to {}", by_cache.count() - 1));
    // Under the others the number of a program's cores may change while it runs.
    const bool is_settled =
        is_free() || !options_.fixed.empty() || options_.scheduler == share::scheduler::callisto;
    for (const program& p : programs_)
        if (!is_settled && !p.engine->need.resizable) refuse_policy(p, "another number of cores than before");
    free_all();
    of.cores->balances = is_free();
    try {
        if (options_.fixed.empty())
            decide();
        else
            place_fixed();
    } catch (...) {
        free_all();
        throw;
    }
    of_.placer = this;
}

program_placer::~program_placer() {
    of_.placer = nullptr;
    free_all();
}

/// As programs are without a placement: each has a worker on every core, and the kernel moves them.
void program_placer::free_all() {
    of_.cores->balances = true;
    for (const int core : cores_) of_.cores->favour(core, nullptr, 0);
    for (const program& p : programs_) {
        for (const auto& w : p.engine->all_workers) of_.cores->place(*w, w->id % of_.machine.size());
        p.engine->resize(p.engine->worker_count());
    }
}

std::vector<int> program_placer::domains() const {
    std::vector<int> of;
    for (const program& p : programs_) of.push_back(p.domain);
    return of;
}

/// When a task has come: ticks go on as long as something else is going to happen.
void program_placer::schedule_tick() {
    if (ticks_ || is_free() || !options_.fixed.empty()) return;
    ticks_ = true;
    of_.events.push(
        of_.now() + options_.period, [](void* p) { static_cast<program_placer*>(p)->tick(); }, this);
}

void program_placer::roots_came() {
    counted_ = of_.now();
    for (program& p : programs_) p.ran = ready_time(p);
    schedule_tick();
}

void program_placer::tick() {
    ticks_ = false;
    if (!of_.has_open_roots()) return;
    count();
    decide();
    // With nothing else left to happen all programs wait for other threads, or for ever. If a task comes, ticks come too.
    if (!of_.events.empty()) schedule_tick();
}

time_ns program_placer::ready_time(const program& p) const {
    time_ns sum = 0;
    for (int r = 0; r < p.own; ++r) {
        model_worker& w = *p.engine->all_workers[static_cast<std::size_t>(r)];
        p.engine->set_activity(w, w.times.current()); // counts the time that has passed
        const auto& spent = w.times.spent();
        sum += std::accumulate(spent.begin(), spent.end(), time_ns{0}) - w.times.spent(activity::asleep) -
               w.blocked_ns;
    }
    return sum;
}

void program_placer::count() {
    const time_ns now = of_.now(), passed = now - counted_;
    if (passed < options_.counter_period || passed == 0) return;
    counted_ = now;
    for (program& p : programs_) {
        std::uint64_t loads = 0;
        for (const auto& w : p.engine->all_workers) loads += w->loads;
        const double seconds = static_cast<double>(passed) * 1e-9;
        const double rate = static_cast<double>(loads - std::exchange(p.loads, loads)) / seconds;
        if (options_.rates.empty())
            p.rate = share::smoothed(p.rate, std::min(static_cast<std::int64_t>(rate), share::most_rate),
                                     options_.weight);
        const time_ns ready = ready_time(p), ran = ready - std::exchange(p.ran, ready);
        const auto whole = passed * std::max<time_ns>(p.own, 1);
        p.load = static_cast<int>(std::clamp<time_ns>(ran * 1000 / whole, 0, 1000));
    }
}

/// Each program on the domain that it was given, and on no other one.
void program_placer::place_fixed() {
    for (int d = 0; d < static_cast<int>(domains_.size()); ++d) {
        std::vector<std::size_t> here;
        for (std::size_t i = 0; i < programs_.size(); ++i)
            if (options_.fixed[i] == d) here.push_back(i);
        if (here.empty()) continue;
        std::vector<int> cores(static_cast<std::size_t>(domains_[static_cast<std::size_t>(d)]));
        std::iota(cores.begin(), cores.end(), std::accumulate(domains_.begin(), domains_.begin() + d, 0));
        const auto shares = share::core_shares(cores, static_cast<int>(here.size()));
        for (std::size_t k = 0; k < here.size(); ++k)
            apply(programs_[here[k]], {.domain = d, .cores = cores, .high = shares[k]});
    }
    favour_first();
}

void program_placer::decide() {
    share::snapshot s{.domains = domains_, .generation = generation_, .now = of_.now(), .decided = decided_};
    for (std::size_t i = 0; i < programs_.size(); ++i) {
        const program& p = programs_[i];
        s.programs.push_back({.id = static_cast<int>(i),
                              .rate = std::max<std::int64_t>(p.rate, 0),
                              .load = p.load,
                              .domain = p.domain});
    }
    share::decision_knobs knobs{.counter_period = options_.counter_period, .idle_below = options_.idle_below};
    const share::decision made = share::decide(s, options_.scheduler, knobs);
    if (!made.is_changed && !std::exchange(is_first_, false)) return;
    if (made.is_changed) decided_ = of_.now();
    generation_ = made.generation;
    for (const share::placed_program& placed : made.programs)
        apply(programs_[static_cast<std::size_t>(placed.id)], placed);
    favour_first();
}

void program_placer::apply(program& p, const share::placed_program& placed) {
    if (p.domain >= 0 && placed.domain != p.domain) ++moves_;
    p.domain = placed.domain;
    if (of_.cores->balances) return; // all workers, wherever they are
    std::vector<int> on = placed.high;
    if (const auto most = static_cast<std::size_t>(options_.most_cores); most > 0 && on.size() > most)
        on.resize(most);
    const auto own = static_cast<int>(on.size());
    if (options_.lends)
        std::ranges::copy_if(placed.cores, std::back_inserter(on), [&](int core) {
            return std::ranges::find(placed.high, core) == placed.high.end();
        });
    const int workers = p.engine->worker_count();
    p.own = std::min(own, workers);
    const int active = std::min(static_cast<int>(on.size()), workers);
    for (int r = 0; r < active; ++r)
        of_.cores->place(*p.engine->all_workers[static_cast<std::size_t>(r)],
                         cores_[static_cast<std::size_t>(on[static_cast<std::size_t>(r)])]);
    set_active(p, active);
    p.ran = ready_time(p);
}

void program_placer::refuse_policy(const program& p, std::string_view cores) const {
    throw error("all workers of this policy are always active",
                fmt::format("program {} under the policy {}, with {} workers for {}", &p - programs_.data(),
                            p.engine->files.options().policy_spec, p.engine->worker_count(), cores),
                "a policy whose number of active workers may change, such as steal");
}

void program_placer::set_active(const program& p, int workers) {
    if (workers == p.engine->worker_count() && !p.engine->need.resizable) return; // they always are
    if (!p.engine->need.resizable) refuse_policy(p, fmt::format("{} cores", workers));
    p.engine->resize(workers);
}

/// The cores of which one program has the share are that program's first.
void program_placer::favour_first() {
    if (!options_.lends || is_free()) return;
    for (const int core : cores_) {
        const model_engine* first = nullptr;
        bool is_shared = false; // there are more programs than cores: their main threads take turns
        for (const program& p : programs_)
            for (int r = 0; r < p.own; ++r) {
                const model_worker& w = *p.engine->all_workers[static_cast<std::size_t>(r)];
                if (w.moves_to.value_or(w.core()) != core) continue;
                is_shared = first != nullptr;
                first = p.engine;
            }
        of_.cores->favour(core, is_shared ? nullptr : first, options_.hysteresis);
    }
}

} // namespace weft::engine
