#include "share/decision.hpp"

#include "share/core_shares.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>

namespace weft::share {

namespace {

[[noreturn]] void refuse_snapshot(std::string_view what, const std::string& given,
                                  const std::string& allowed) {
    throw error(what, given, allowed);
}

void check_program(const program_state& p, int domains) {
    const std::string given = fmt::format("program {}", p.id);
    if (p.id < 0) refuse_snapshot("the id of a program is negative", given, "0 or more");
    if (p.rate < 0 || p.rate > most_rate)
        refuse_snapshot("a rate is out of range", fmt::format("{}, rate {}", given, p.rate),
                        fmt::format("0..{}", most_rate));
    if (p.load < 0 || p.load > 1000)
        refuse_snapshot("a load is out of range", fmt::format("{}, load {}", given, p.load),
                        "0..1000 thousandths");
    if (p.domain < -1 || p.domain >= domains)
        refuse_snapshot("a program is on a domain that there is not",
                        fmt::format("{}, domain {}", given, p.domain), fmt::format("-1..{}", domains - 1));
}

void check(const snapshot& s, const decision_knobs& k) {
    const auto domains = s.domains.size(), programs = s.programs.size();
    if (domains == 0 || domains > most_domains)
        refuse_snapshot("the number of domains is out of range", std::to_string(domains),
                        fmt::format("1..{}", most_domains));
    if (programs > most_programs)
        refuse_snapshot("too many programs", std::to_string(programs), fmt::format("0..{}", most_programs));
    for (const int cores : s.domains)
        if (cores < 1 || cores > 65536)
            refuse_snapshot("the number of cores of a domain is out of range", std::to_string(cores),
                            "1..65536");
    for (const program_state& p : s.programs) check_program(p, static_cast<int>(domains));
    if (k.idle_below < 0 || k.idle_below > 1000)
        refuse_snapshot("idle_below is out of range", std::to_string(k.idle_below), "0..1000 thousandths");
    if (k.counter_period < 0)
        refuse_snapshot("the counter period is negative", fmt::format("{} ns", k.counter_period),
                        "0 or more");
    if (s.now < 0 || s.decided < 0)
        refuse_snapshot("a time is negative", fmt::format("now {}, decided {}", s.now, s.decided),
                        "0 or more ns");
}

/// The programs in order of ids, and where each comes to be.
struct deciding {
    deciding(const snapshot& of, const decision_knobs& with)
        : given(of)
        , knobs(with)
        , domains(static_cast<int>(of.domains.size()))
        , programs(of.programs) {
        std::sort(programs.begin(), programs.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
        const auto twice = std::adjacent_find(programs.begin(), programs.end(),
                                              [](const auto& a, const auto& b) { return a.id == b.id; });
        if (twice != programs.end())
            refuse_snapshot("two programs have one id", std::to_string(twice->id),
                            "a different one for each");
        for (const program_state& p : programs) {
            current.push_back(p.domain);
            used.push_back(p.rate);
        }
    }
    int count() const noexcept { return static_cast<int>(programs.size()); }
    bool all_placed() const noexcept {
        return std::find(current.begin(), current.end(), -1) == current.end();
    }
    bool none_placed() const noexcept {
        return std::all_of(current.begin(), current.end(), [](int d) { return d == -1; });
    }

    const snapshot& given;
    const decision_knobs& knobs;
    const int domains;
    std::vector<program_state> programs;
    domains_of current{};
    rates used{}; ///< the rates that are compared
    std::vector<bool> is_idle{};
    domains_of chosen{};
    std::string_view why{};
    std::string text{};

    void choose(domains_of of, std::string_view code, std::string sentence) {
        chosen = std::move(of);
        why = code;
        text = std::move(sentence);
    }
};

// Unequal counts: rates as thousandths of the largest. Equal rates that were measured with some noise are then often equal.
void round_rates(deciding& d) {
    if (d.count() % d.domains == 0 || d.count() < d.domains) return;
    const std::int64_t largest = *std::max_element(d.used.begin(), d.used.end());
    if (largest == 0) return;
    for (std::int64_t& r : d.used) r = (r * 1000 + largest / 2) / largest; // most_rate * 1000 < 2^63
}

void find_idle(deciding& d) {
    for (std::size_t i = 0; i < d.programs.size(); ++i) {
        d.is_idle.push_back(d.programs[i].load < d.knobs.idle_below);
        if (d.is_idle.back()) d.used[i] = 0;
    }
}

/// The heuristic: the current placement if none is better, else the best one.
void by_score(deciding& d) {
    const bool is_current = is_placement(d.current, d.domains);
    if (is_current && score(d.current, d.used) == best_score(d.used, d.domains))
        return d.choose(d.current, "kept", "no placement has a better score than the current one");
    domains_of best = best_placement(d.used, d.domains);
    if (d.none_placed())
        return d.choose(std::move(best), "first", "the first placement, the one with the best score");
    if (!d.all_placed())
        return d.choose(std::move(best), "arrival", "a program has come; all are placed by the best score");
    const std::int64_t before = score(d.current, d.used), after = score(best, d.used);
    if (is_current)
        return d.choose(std::move(best), "better",
                        fmt::format("the score rises from {} to {}", before, after));
    d.choose(
        std::move(best), "better",
        fmt::format("programs have ended, the current placement does not fit the rest; score {}", after));
}

void lira_static(deciding& d) {
    if (d.all_placed()) return d.choose(d.current, "static", "lira-static keeps its placement to the end");
    round_rates(d);
    // The current places of the others are not considered: this scheduler has no current placement.
    domains_of best = best_placement(d.used, d.domains);
    if (d.none_placed()) return d.choose(std::move(best), "first", "the best score of the stored rates");
    d.choose(std::move(best), "arrival", "a program has come; the best score of the stored rates");
}

void lira_adaptive(deciding& d) {
    find_idle(d);
    round_rates(d);
    if (d.all_placed()) {
        // A time in the future is no reason to stay.
        const std::int64_t age = d.given.now - d.given.decided;
        if (d.given.generation > 0 && age >= 0 && age < d.knobs.counter_period)
            return d.choose(d.current, "period", "the placement is younger than the counter period");
        const auto idle = std::count(d.is_idle.begin(), d.is_idle.end(), true);
        if (idle > d.domains)
            return d.choose(d.current, "idle",
                            fmt::format("{} programs are idle, more than the {} domains", idle, d.domains));
    }
    by_score(d);
}

void by_costs(deciding& d, bool best) {
    const measured_placement* found = nullptr;
    for (const measured_placement& m : d.knobs.costs) {
        if (m.first.size() != d.programs.size() || !is_placement(m.first, d.domains) ||
            !std::isfinite(m.second))
            refuse_snapshot(
                "a measured placement does not fit", fmt::format("{}: {}", m.first, m.second),
                fmt::format("a domain for each of {} programs, at most {} on one, and a finite cost",
                            d.count(), most_on_a_domain(d.count(), d.domains)));
        if (!found || (best ? m.second < found->second : m.second > found->second)) found = &m;
    }
    d.choose(found->first, "measured",
             fmt::format("the {} of {} measured costs", best ? "least" : "greatest", d.knobs.costs.size()));
}

void oracle(deciding& d, bool best) {
    if (!d.knobs.costs.empty()) return by_costs(d, best);
    round_rates(d);
    if (best)
        return d.choose(best_placement(d.used, d.domains), "enumerated",
                        "the greatest score, without measured costs");
    if (d.count() > most_tried)
        refuse_snapshot("the least score cannot be enumerated", fmt::format("{} programs", d.count()),
                        fmt::format("measured costs, or up to {} programs", most_tried));
    std::optional<std::int64_t> least;
    domains_of worst;
    for_each_placement(d.count(), d.domains, [&](const domains_of& tried) {
        const std::int64_t its = score(tried, d.used);
        if (least && *least <= its) return;
        least = its;
        worst = tried;
    });
    d.choose(std::move(worst), "enumerated", "the least score, without measured costs");
}

void place(deciding& d, scheduler by) {
    switch (by) {
    case scheduler::os:
        return d.choose(domains_of(d.programs.size(), -1), "unplaced", "the kernel places all threads");
    case scheduler::callisto:
        return d.choose(domains_of(d.programs.size(), -1), "shared",
                        "each program has equal shares of all cores");
    case scheduler::lira_static: return lira_static(d);
    case scheduler::lira_adaptive: return lira_adaptive(d);
    case scheduler::best_static: return oracle(d, true);
    case scheduler::worst_static: return oracle(d, false);
    }
}

/// The cores of a domain, in the numbers that go through all domains.
std::vector<int> cores_of(const deciding& d, int domain) {
    const auto begin = d.given.domains.begin();
    std::vector<int> cores(static_cast<std::size_t>(d.given.domains[static_cast<std::size_t>(domain)]));
    std::iota(cores.begin(), cores.end(), std::accumulate(begin, begin + domain, 0));
    return cores;
}

/// Those of all domains for which `wanted` is true.
std::vector<int> cores_of_domains(const deciding& d, const std::function<bool(int)>& wanted) {
    std::vector<int> all;
    for (int domain = 0; domain < d.domains; ++domain) {
        if (!wanted(domain)) continue;
        const std::vector<int> its = cores_of(d, domain);
        all.insert(all.end(), its.begin(), its.end());
    }
    return all;
}

/// Cores and their shares for the programs with these indices, in addition to what they have.
void share_cores(decision& made, const std::vector<int>& cores, const std::vector<std::size_t>& among) {
    if (among.empty()) return;
    const auto shares = core_shares(cores, static_cast<int>(among.size()));
    for (std::size_t i = 0; i < among.size(); ++i) {
        placed_program& p = made.programs[among[i]];
        p.cores.insert(p.cores.end(), cores.begin(), cores.end());
        p.high.insert(p.high.end(), shares[i].begin(), shares[i].end());
    }
}

void give_cores(const deciding& d, decision& made) {
    std::vector<std::size_t> whole(d.programs.size());
    std::iota(whole.begin(), whole.end(), std::size_t{0});
    const auto on = [&](int domain) {
        std::vector<std::size_t> found;
        std::copy_if(whole.begin(), whole.end(), std::back_inserter(found),
                     [&](std::size_t i) { return d.chosen[i] == domain; });
        return found;
    };
    // A domain without programs belongs to all of them, like all domains where the programs have none.
    for (int domain = 0; domain < d.domains; ++domain) share_cores(made, cores_of(d, domain), on(domain));
    share_cores(made, cores_of_domains(d, [&](int domain) { return on(domain).empty(); }), whole);
}

std::string reason_of(const deciding& d, std::size_t i) {
    const int to = d.chosen[i], from = d.current[i];
    std::string with;
    for (std::size_t j = 0; j < d.programs.size(); ++j)
        if (j != i && d.chosen[j] == to)
            with += fmt::format("{}{}", with.empty() ? "" : ", ", d.programs[j].id);
    if (to < 0) return "on all domains";
    std::string text = from == to ? fmt::format("stays on domain {}", to)
                       : from < 0 ? fmt::format("starts on domain {}", to)
                                  : fmt::format("moves from domain {} to {}", from, to);
    text += with.empty() ? ", alone" : fmt::format(", beside {}", with);
    if (!d.is_idle.empty() && d.is_idle[i]) text += "; idle, so that its rate counts as 0";
    return text;
}

} // namespace

scheduler scheduler_of(std::string_view name) {
    const auto found = std::find(std::begin(scheduler_names), std::end(scheduler_names), name);
    if (found == std::end(scheduler_names))
        throw error("no such scheduler of programs", name,
                    fmt::format("{}", fmt::join(scheduler_names, ", ")));
    return static_cast<scheduler>(found - std::begin(scheduler_names));
}

decision decide(const snapshot& s, scheduler by, const decision_knobs& knobs) {
    check(s, knobs);
    deciding d(s, knobs);
    decision made;
    made.generation = s.generation;
    if (d.programs.empty()) {
        made.why = "empty";
        made.text = "there is no program";
        return made;
    }
    place(d, by);
    made.is_changed = d.chosen != d.current;
    made.generation += made.is_changed ? 1 : 0;
    made.why = d.why;
    made.text = std::move(d.text);
    const bool is_placed = d.chosen.front() >= 0;
    made.score = is_placed ? score(d.chosen, d.used) : 0;
    made.is_exact = !is_placed || d.count() <= most_tried || d.chosen == d.current || d.why == "measured";
    for (std::size_t i = 0; i < d.programs.size(); ++i) {
        placed_program p;
        p.id = d.programs[i].id;
        p.domain = d.chosen[i];
        p.rate = d.used[i];
        p.is_idle = !d.is_idle.empty() && d.is_idle[i];
        p.why = reason_of(d, i);
        made.programs.push_back(std::move(p));
    }
    give_cores(d, made);
    for (placed_program& p : made.programs) {
        p.active = static_cast<int>(by == scheduler::os ? p.cores.size() : p.high.size());
        if (by == scheduler::os) p.high.clear();
    }
    return made;
}

std::int64_t smoothed(std::int64_t old, std::int64_t value, int weight) {
    if (weight < 0 || weight > 1000)
        throw error("the weight of a new value is out of range", std::to_string(weight),
                    "0..1000 thousandths");
    if (value < 0 || value > most_rate || old > most_rate)
        throw error("a rate is out of range", fmt::format("old {}, new {}", old, value),
                    fmt::format("0..{}", most_rate));
    return old < 0 ? value : (old * (1000 - weight) + value * weight + 500) / 1000;
}

} // namespace weft::share
