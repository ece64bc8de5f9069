// Which program is placed where: the worked examples of LIRA's heuristic, its tie rule, the idle rule, and each scheduler.
#include "share/core_shares.hpp"
#include "share/decision.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace weft::share {
namespace {

constexpr std::int64_t ms = 1'000'000;

/// Programs 0, 1, ... with these rates and places, on domains of eight cores.
snapshot of(const rates& r, const domains_of& at = {}, int domains = 2) {
    snapshot s;
    s.domains.assign(static_cast<std::size_t>(domains), 8);
    for (std::size_t i = 0; i < r.size(); ++i)
        s.programs.push_back({.id = static_cast<int>(i), .rate = r[i], .domain = at.empty() ? -1 : at[i]});
    s.generation = at.empty() ? 0 : 7;
    s.now = 10'000 * ms;
    return s;
}

domains_of places(const decision& d) {
    domains_of all;
    for (const placed_program& p : d.programs) all.push_back(p.domain);
    return all;
}

// ---- the vectors of section 4.2

TEST(lira_score, of_the_worked_example) {
    const rates r{10, 9, 2, 1};
    EXPECT_EQ(score(domains_of{0, 0, 1, 1}, r), 2);
    EXPECT_EQ(score(domains_of{0, 1, 0, 1}, r), 16);
    EXPECT_EQ(score(domains_of{0, 1, 1, 0}, r), 16);
    EXPECT_EQ(best_score(r, 2), 16);
    EXPECT_EQ(score(domains_of{0, 0, 1, 1}, rates{10, 6, 2, 1}), 5);
    EXPECT_EQ(score(domains_of{0, 1, 0, 1}, rates{10, 6, 2, 1}), 13);
    EXPECT_EQ(score(domains_of{0, 1, 1, 0}, rates{10, 6, 2, 1}), 13);
}

TEST(lira_adaptive, from_nothing_takes_the_least_spread_of_sums) {
    const decision d = decide(of({10, 9, 2, 1}), scheduler::lira_adaptive);
    EXPECT_EQ(places(d), (domains_of{0, 1, 1, 0}));
    EXPECT_EQ(spread_of_sums(places(d), rates{10, 9, 2, 1}, 2), 0);
    EXPECT_EQ(d.score, 16);
    EXPECT_EQ(d.generation, 1U);
    EXPECT_TRUE(d.is_changed);
    EXPECT_EQ(d.why, "first");
}

TEST(lira_adaptive, keeps_the_current_placement_if_it_is_one_of_the_best) {
    for (const domains_of& at : {domains_of{0, 1, 0, 1}, domains_of{0, 1, 1, 0}, domains_of{1, 0, 1, 0}}) {
        const decision d = decide(of({10, 9, 2, 1}, at), scheduler::lira_adaptive);
        EXPECT_EQ(places(d), at);
        EXPECT_FALSE(d.is_changed);
        EXPECT_EQ(d.generation, 7U);
        EXPECT_EQ(d.why, "kept");
    }
}

TEST(lira_adaptive, leaves_a_placement_of_lower_score) {
    const decision d = decide(of({10, 9, 2, 1}, {0, 0, 1, 1}), scheduler::lira_adaptive);
    EXPECT_EQ(places(d), (domains_of{0, 1, 1, 0}));
    EXPECT_EQ(d.generation, 8U);
    EXPECT_EQ(d.why, "better");
    EXPECT_EQ(d.text, "the score rises from 2 to 16");
    EXPECT_EQ(d.programs[1].why, "moves from domain 0 to 1, beside 2");
}

// With floats AC-BD and AD-BC differ by rounding in 14 % of random cases, and the programs would change places for nothing.
TEST(lira_adaptive, ties_that_floats_break_stay_ties) {
    std::mt19937_64 draw(1);
    int broken = 0;
    constexpr int cases = 4000;
    for (int i = 0; i < cases; ++i) {
        std::vector<double> d(4);
        for (double& x : d) x = std::uniform_real_distribution<double>(0, 1)(draw);
        std::sort(d.begin(), d.end(), std::greater<>());
        broken += (d[0] - d[2]) + (d[1] - d[3]) != (d[0] - d[3]) + (d[1] - d[2]);
        rates r;
        for (const double x : d) r.push_back(static_cast<std::int64_t>(x * 1e9));
        for (const domains_of& at : {domains_of{0, 1, 0, 1}, domains_of{0, 1, 1, 0}})
            ASSERT_EQ(places(decide(of(r, at), scheduler::lira_adaptive)), at) << "case " << i;
    }
    EXPECT_NEAR(100.0 * broken / cases, 14, 3);
}

TEST(lira_adaptive, programs_of_equal_rates_stay_where_they_are) {
    for (const domains_of& at : {domains_of{0, 0, 1, 1}, domains_of{0, 1, 0, 1}})
        EXPECT_EQ(places(decide(of({5, 5, 5, 5}, at), scheduler::lira_adaptive)), at);
}

TEST(lira_adaptive, a_placement_stays_for_a_counter_period) {
    snapshot s = of({10, 9, 2, 1}, {0, 0, 1, 1});
    s.decided = s.now - 226 * ms;
    EXPECT_EQ(decide(s, scheduler::lira_adaptive).why, "period");
    s.decided = s.now - 227 * ms;
    EXPECT_EQ(decide(s, scheduler::lira_adaptive).why, "better");
    s.decided = s.now + 1; // in the future: the clock of a table that is damaged
    EXPECT_EQ(decide(s, scheduler::lira_adaptive).why, "better");
    s.decided = s.now;
    s.programs[3].domain = -1; // a new program is placed at once
    EXPECT_EQ(decide(s, scheduler::lira_adaptive).why, "arrival");
}

TEST(lira_adaptive, rates_of_idle_programs_count_as_0) {
    snapshot s = of({10, 9, 2, 1}, {0, 1, 1, 0});
    s.programs[0].load = 499; // now 9 and 2 are the two highest, and are together
    const decision d = decide(s, scheduler::lira_adaptive);
    EXPECT_EQ(d.why, "better");
    EXPECT_EQ(d.programs[0].rate, 0);
    EXPECT_TRUE(d.programs[0].is_idle);
    EXPECT_EQ(d.score, 10); // 9 beside 0 or 1, 2 beside the other
    s.programs[0].load = 500;
    EXPECT_EQ(decide(s, scheduler::lira_adaptive).why, "kept");
}

TEST(lira_adaptive, more_idle_programs_than_domains_leave_everything) {
    snapshot s = of({10, 9, 2, 1}, {0, 0, 1, 1});
    for (const std::size_t i : {0U, 1U}) s.programs[i].load = 0;
    EXPECT_NE(decide(s, scheduler::lira_adaptive).why, "idle"); // two: not more than the domains
    s.programs[2].load = 0;
    const decision d = decide(s, scheduler::lira_adaptive);
    EXPECT_EQ(d.why, "idle");
    EXPECT_FALSE(d.is_changed);
}

TEST(lira_adaptive, ids_and_not_positions_break_ties) {
    snapshot s = of({5, 5, 5, 5});
    std::swap(s.programs[0], s.programs[3]);
    const decision d = decide(s, scheduler::lira_adaptive);
    EXPECT_EQ(places(d), (domains_of{0, 0, 1, 1}));
    EXPECT_EQ(d.programs.front().id, 0);
}

TEST(lira_adaptive, placements_that_no_longer_fit_are_left) {
    const decision d = decide(of({4, 3}, {1, 1}), scheduler::lira_adaptive); // the other two have ended
    EXPECT_EQ(places(d), (domains_of{0, 1}));
    EXPECT_EQ(d.why, "better");
}

TEST(lira_adaptive, unequal_counts_compare_thousandths_of_the_largest_rate) {
    const decision d = decide(of({1'000'000, 999'700, 10, 9, 8}), scheduler::lira_adaptive);
    EXPECT_EQ(d.programs[0].rate, 1000);
    EXPECT_EQ(d.programs[1].rate, 1000);
    EXPECT_EQ(d.programs[2].rate, 0);
    EXPECT_EQ(d.score, 3000);
}

TEST(lira, fewer_programs_than_domains_share_the_cores_of_the_empty_ones) {
    const decision d = decide(of({3, 2}, {}, 3), scheduler::lira_adaptive);
    EXPECT_EQ(places(d), (domains_of{0, 1}));
    EXPECT_EQ(d.programs[0].cores.size(), 16U);
    EXPECT_EQ(d.programs[0].high, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19}));
    EXPECT_EQ(d.programs[1].high.front(), 8);
    EXPECT_EQ(d.programs[1].active, 12);
}

TEST(lira_static, keeps_its_placement_to_the_end) {
    EXPECT_EQ(places(decide(of({10, 9, 2, 1}), scheduler::lira_static)), (domains_of{0, 1, 1, 0}));
    const decision d = decide(of({10, 9, 2, 1}, {0, 0, 1, 1}), scheduler::lira_static);
    EXPECT_EQ(d.why, "static");
    EXPECT_FALSE(d.is_changed);
    EXPECT_EQ(decide(of({10, 9, 2, 1}, {0, 0, 1, -1}), scheduler::lira_static).why, "arrival");
}

TEST(callisto, each_program_has_an_equal_share_of_all_cores) {
    const decision d = decide(of({1, 2, 3}), scheduler::callisto);
    std::vector<int> high(16, 0);
    for (const placed_program& p : d.programs) {
        EXPECT_EQ(p.domain, -1);
        EXPECT_EQ(p.cores.size(), 16U);
        EXPECT_EQ(p.active, static_cast<int>(p.high.size()));
        for (const int core : p.high) ++high[static_cast<std::size_t>(core)];
    }
    EXPECT_EQ(high, std::vector<int>(16, 1));
    EXPECT_EQ(d.programs[0].high.size(), 6U);
    EXPECT_EQ(d.programs[2].high.size(), 5U);
}

TEST(callisto, more_programs_than_cores_have_a_core_each) {
    const std::vector<int> cores{4, 5};
    EXPECT_EQ(core_shares(cores, 3), (std::vector<std::vector<int>>{{4}, {5}, {4}}));
    EXPECT_EQ(core_shares(cores, 1), (std::vector<std::vector<int>>{{4, 5}}));
}

TEST(os, places_no_program) {
    const decision d = decide(of({1, 2}), scheduler::os);
    EXPECT_EQ(places(d), (domains_of{-1, -1}));
    EXPECT_FALSE(d.is_changed);
    EXPECT_EQ(d.programs[0].cores.size(), 16U);
    EXPECT_TRUE(d.programs[0].high.empty());
}

TEST(oracles, take_the_least_and_the_greatest_cost) {
    decision_knobs k;
    k.costs = {{{0, 0, 1, 1}, 3.0}, {{0, 1, 0, 1}, 1.5}, {{0, 1, 1, 0}, 1.5}};
    EXPECT_EQ(places(decide(of({1, 2, 3, 4}), scheduler::best_static, k)), (domains_of{0, 1, 0, 1}));
    EXPECT_EQ(places(decide(of({1, 2, 3, 4}), scheduler::worst_static, k)), (domains_of{0, 0, 1, 1}));
    EXPECT_EQ(places(decide(of({10, 9, 2, 1}), scheduler::best_static)), (domains_of{0, 1, 1, 0}));
    EXPECT_EQ(places(decide(of({10, 9, 2, 1}), scheduler::worst_static)), (domains_of{0, 0, 1, 1}));
}

TEST(decisions, are_none_without_programs) {
    for (const std::string_view name : scheduler_names) {
        const decision d = decide(of({}), scheduler_of(name));
        EXPECT_TRUE(d.programs.empty());
        EXPECT_FALSE(d.is_changed);
    }
}

TEST(decisions, on_one_domain_have_one_answer) {
    const decision d = decide(of({3, 2, 1}, {}, 1), scheduler::lira_adaptive);
    EXPECT_EQ(places(d), (domains_of{0, 0, 0}));
}

TEST(decisions, have_room_for_the_largest_numbers) {
    rates r(most_programs, 0);
    for (std::size_t i = 0; i < r.size() / 2; ++i) r[i] = most_rate;
    const decision d = decide(of(r, {}, 1), scheduler::lira_adaptive);
    EXPECT_EQ(d.score, 32 * 32 * most_rate);
    EXPECT_EQ(places(decide(of(rates(most_programs, most_rate), {}, most_domains), scheduler::lira_adaptive))
                  .back(),
              63);
}

std::string refusal_of(const snapshot& s, const decision_knobs& k = {}) {
    try {
        decide(s, scheduler::best_static, k);
    } catch (const error& e) { return e.what(); }
    return "accepted";
}

TEST(decisions, refuse_what_cannot_be) {
    EXPECT_EQ(refusal_of(of({1}, {2})),
              "a program is on a domain that there is not; given: program 0, domain 2; allowed: -1..1");
    EXPECT_NE(refusal_of(of({-1})).find("a rate is out of range; given: program 0, rate -1"),
              std::string::npos);
    EXPECT_NE(refusal_of(of({most_rate + 1})).find("a rate is out of range"), std::string::npos);
    snapshot s = of({1, 2});
    s.programs[1].id = 0;
    EXPECT_NE(refusal_of(s).find("two programs have one id; given: 0"), std::string::npos);
    s = of({1});
    s.programs[0].load = 1001;
    EXPECT_NE(refusal_of(s).find("a load is out of range"), std::string::npos);
    s.domains.clear();
    EXPECT_NE(refusal_of(s).find("the number of domains is out of range; given: 0"), std::string::npos);
    EXPECT_NE(refusal_of(of(rates(65, 1))).find("too many programs; given: 65"), std::string::npos);
    decision_knobs k;
    k.costs = {{{0, 0}, 1.0}};
    EXPECT_NE(refusal_of(of({1, 2}), k).find("a measured placement does not fit; given: [0, 0]: 1"),
              std::string::npos);
    EXPECT_THROW(scheduler_of("lira"), error);
}

TEST(smoothing, is_in_integers) {
    EXPECT_EQ(smoothed(-1, 100, 500), 100);
    EXPECT_EQ(smoothed(100, 200, 500), 150);
    EXPECT_EQ(smoothed(100, 200, 0), 100);
    EXPECT_EQ(smoothed(100, 200, 1000), 200);
    EXPECT_EQ(smoothed(most_rate, most_rate, 500), most_rate);
    EXPECT_THROW(smoothed(0, 1, 1001), error);
    EXPECT_THROW(smoothed(0, -1, 500), error);
}

} // namespace
} // namespace weft::share
