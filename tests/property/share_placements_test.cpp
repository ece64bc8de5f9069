// LIRA's heuristic against plain enumeration of all maps of programs to domains: the best score, the blocks of rates, and the
// tie rule.
#include "share/decision.hpp"
#include "share/placements.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace weft::share {
namespace {

struct sizes {
    int programs, domains;
};
constexpr sizes all_sizes[] = {{4, 2}, {6, 2}, {6, 3}, {8, 2}, {8, 4}, {5, 2}, {7, 3}};

/// Every map of programs to domains with at most the quotient rounded up on each, also those that only rename domains.
void every_map(sizes s, const std::function<void(const domains_of&)>& seen) {
    domains_of map(static_cast<std::size_t>(s.programs), 0);
    const int most = (s.programs + s.domains - 1) / s.domains;
    for (;;) {
        std::vector<int> count(static_cast<std::size_t>(s.domains), 0);
        for (const int d : map) ++count[static_cast<std::size_t>(d)];
        if (*std::max_element(count.begin(), count.end()) <= most) seen(map);
        auto digit = map.rbegin();
        while (digit != map.rend() && *digit == s.domains - 1) *digit++ = 0;
        if (digit == map.rend()) return;
        ++*digit;
    }
}

std::int64_t plain_score(const domains_of& map, const rates& r) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < r.size(); ++i)
        for (std::size_t j = i + 1; j < r.size(); ++j)
            if (map[i] == map[j]) sum += r[i] > r[j] ? r[i] - r[j] : r[j] - r[i];
    return sum;
}

struct oracle_answer {
    std::int64_t score = -1;
    std::int64_t spread = 0;
    domains_of first{};
};

/// The tie rule as it is written: best score, least spread, lowest ids.
oracle_answer enumerate(sizes s, const rates& r) {
    oracle_answer best;
    every_map(s, [&](const domains_of& map) {
        const std::int64_t its = plain_score(map, r), spread = spread_of_sums(map, r, s.domains);
        if (its < best.score || (its == best.score && spread >= best.spread)) return;
        best = {its, spread, map};
    });
    return best;
}

/// Few values, so that ties are frequent, or many.
rates drawn_rates(int programs) {
    const auto greatest = *rc::gen::element<std::int64_t>(3, 20, 1'000'000'000'000);
    return *rc::gen::container<rates>(static_cast<std::size_t>(programs),
                                      rc::gen::inRange<std::int64_t>(0, greatest));
}

snapshot snapshot_of(sizes s, const rates& r, const domains_of* current) {
    snapshot made;
    made.domains.assign(static_cast<std::size_t>(s.domains), 4);
    made.now = 1'000'000'000;
    made.generation = 1;
    for (std::size_t i = 0; i < r.size(); ++i)
        made.programs.push_back(
            {.id = static_cast<int>(i), .rate = r[i], .domain = current ? (*current)[i] : -1});
    return made;
}

domains_of chosen(const decision& d) {
    domains_of all;
    for (const placed_program& p : d.programs) all.push_back(p.domain);
    return all;
}

rates used(const decision& d) {
    rates all;
    for (const placed_program& p : d.programs) all.push_back(p.rate);
    return all;
}

RC_GTEST_PROP(lira_placements, have_the_best_score_and_the_tie_rule_of_the_enumeration, ()) {
    for (const sizes s : all_sizes) {
        const rates r = drawn_rates(s.programs);
        const oracle_answer best = enumerate(s, r);
        RC_ASSERT(best_score(r, s.domains) == best.score);
        RC_ASSERT(best_placement(r, s.domains) == best.first);
    }
}

RC_GTEST_PROP(lira_placements, from_nothing_are_those_of_the_enumeration, ()) {
    for (const sizes s : all_sizes) {
        const decision d = decide(snapshot_of(s, drawn_rates(s.programs), nullptr), scheduler::lira_adaptive);
        RC_ASSERT(chosen(d) == enumerate(s, used(d)).first);
    }
}

RC_GTEST_PROP(lira_placements, stay_exactly_if_none_is_better, ()) {
    for (const sizes s : all_sizes) {
        const rates r = drawn_rates(s.programs);
        std::vector<domains_of> maps;
        every_map(s, [&](const domains_of& map) {
            if (is_placement(map, s.domains)) maps.push_back(map);
        });
        const domains_of current = *rc::gen::elementOf(maps);
        const decision d = decide(snapshot_of(s, r, &current), scheduler::lira_adaptive);
        const oracle_answer best = enumerate(s, used(d));
        const bool stays = plain_score(current, used(d)) == best.score;
        RC_CLASSIFY(stays, "stays");
        RC_ASSERT(d.is_changed == !stays);
        RC_ASSERT(chosen(d) == (stays ? current : best.first));
        RC_ASSERT(d.generation == (stays ? 1U : 2U));
    }
}

// The blocks: with different rates and k programs a domain, a placement is best iff every domain holds one program of each
// block of ranks.
RC_GTEST_PROP(lira_placements, are_best_iff_each_domain_has_one_program_of_each_block, ()) {
    for (const sizes s : all_sizes) {
        if (s.programs % s.domains != 0) continue;
        const rates r = *rc::gen::unique<rates>(static_cast<std::size_t>(s.programs),
                                                rc::gen::inRange<std::int64_t>(0, 1'000'000));
        const std::int64_t best = best_score(r, s.domains);
        every_map(s, [&](const domains_of& map) {
            std::set<std::pair<int, std::int64_t>> blocks; // of domain and block
            for (std::size_t i = 0; i < r.size(); ++i) {
                const auto rank = std::count_if(r.begin(), r.end(), [&](std::int64_t x) { return x > r[i]; });
                blocks.emplace(map[i], rank / s.domains);
            }
            RC_ASSERT((blocks.size() == r.size()) == (plain_score(map, r) == best));
        });
    }
}

RC_GTEST_PROP(lira_placements, of_many_programs_have_the_best_score, ()) {
    const sizes s{*rc::gen::inRange(9, most_programs + 1), *rc::gen::inRange(1, 17)};
    const rates r = drawn_rates(s.programs);
    const domains_of made = best_placement(r, s.domains);
    RC_ASSERT(is_placement(made, s.domains));
    RC_ASSERT(plain_score(made, r) == best_score(r, s.domains));
    // No exchange of two programs, and no move to a domain with room, is better.
    for (std::size_t i = 0; i < r.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            domains_of other = made;
            std::swap(other[i], other[j]);
            RC_ASSERT(plain_score(other, r) <= best_score(r, s.domains));
        }
        for (int d = 0; d < s.domains; ++d) {
            domains_of other = made;
            other[i] = d;
            if (is_placement(other, s.domains)) RC_ASSERT(plain_score(other, r) <= best_score(r, s.domains));
        }
    }
}

// Beyond what is tried: pairs are put together as the highest with the lowest, which is the least spread of all.
RC_GTEST_PROP(lira_placements, of_many_pairs_join_the_highest_with_the_lowest, ()) {
    const int domains = *rc::gen::inRange(5, 33);
    const rates r = *rc::gen::unique<rates>(static_cast<std::size_t>(2 * domains),
                                            rc::gen::inRange<std::int64_t>(0, 1'000'000'000));
    const domains_of made = best_placement(r, domains);
    std::vector<std::size_t> ranks(r.size());
    for (std::size_t i = 0; i < r.size(); ++i)
        ranks[static_cast<std::size_t>(
            std::count_if(r.begin(), r.end(), [&](std::int64_t x) { return x > r[i]; }))] = i;
    for (std::size_t i = 0; i < static_cast<std::size_t>(domains); ++i)
        RC_ASSERT(made[ranks[i]] == made[ranks[r.size() - 1 - i]]);
}

TEST(lira_placements, are_all_enumerated_once) {
    for (const sizes s : all_sizes) {
        std::set<domains_of> expected, found;
        every_map(s, [&](const domains_of& map) {
            domains_of names(static_cast<std::size_t>(s.domains), -1), renamed;
            int next = 0;
            for (const int d : map) {
                int& name = names[static_cast<std::size_t>(d)];
                if (name < 0) name = next++;
                renamed.push_back(name);
            }
            if (next == s.domains) expected.insert(renamed); // none is empty
        });
        std::optional<domains_of> last;
        for_each_placement(s.programs, s.domains, [&](const domains_of& one) {
            EXPECT_TRUE(found.insert(one).second);
            EXPECT_TRUE(!last || *last < one);
            last = one;
        });
        EXPECT_EQ(found, expected);
    }
}

} // namespace
} // namespace weft::share
