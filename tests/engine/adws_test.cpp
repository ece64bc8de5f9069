// ctest: labels=not_tsan
//
// adws and ml-adws as programs on modelled machines: which worker runs which leaf, in closed forms, and what
// stealing repairs. The figures are those of S. Shiina's thesis (2021, chapters 4 and 5) and of a simulation
// of its algorithms by hand. Leaves are numbered in serial order.
#include "engine/modelled.hpp"

#include "engine/worker/worker.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::equal_cores;
using test::modelled;
using map = std::vector<int>; ///< worker of each leaf

int this_worker() { return impl::hot_self()->id; }

/// A tree whose tasks have `arity` children and as many groups, one after another; leaves record
/// where they run.
struct tree {
    int arity = 2;
    int groups = 1;
    double bytes = 0; ///< of the root's groups; a child's have its part
    std::uint64_t (*leaf_cost)(std::size_t leaf) = [](std::size_t) { return std::uint64_t{1000}; };

    std::size_t leaves(int depth) const {
        std::size_t n = 1;
        for (int i = 0; i < depth; ++i) n *= static_cast<std::size_t>(arity * groups);
        return n;
    }
    void run(map& where, std::size_t first, int depth) const { run(where, first, depth, bytes); }
    void run(map& where, std::size_t first, int depth, double size) const {
        if (depth == 0) {
            where[first] = this_worker();
            return cost(leaf_cost(first));
        }
        for (int k = 0; k < groups; ++k) {
            task_group g(hints{.work = static_cast<double>(arity), .bytes = static_cast<std::size_t>(size)});
            for (int i = 0; i < arity; ++i) {
                const std::size_t from = first + static_cast<std::size_t>(k * arity + i) * leaves(depth - 1);
                g.run([=, this, &where] { run(where, from, depth - 1, size / arity); }, hints{.work = 1});
            }
            g.wait();
        }
    }
};

map map_of(const std::string& policy, const machine& on, const tree& t, int depth) {
    modelled m(policy, on);
    map where(t.leaves(depth), -1);
    m.run([&] { t.run(where, 0, depth); });
    return where;
}
map map_of(const std::string& policy, int workers, const tree& t, int depth) {
    return map_of(policy, equal_cores(workers), t, depth);
}

/// Children of one group with this work each.
map flat(const std::string& policy, int workers, const std::vector<double>& work) {
    modelled m(policy, equal_cores(workers));
    map where(work.size(), -1);
    double all = 0;
    for (const double w : work) all += w;
    m.run([&] {
        task_group g(hints{.work = all});
        for (std::size_t i = 0; i < work.size(); ++i)
            g.run([&, i] { where[i] = this_worker(), cost(1000); }, hints{.work = work[i]});
        g.wait();
    });
    return where;
}

const std::vector<std::string> without_steals = {"adws:steal=off", "adws:steal=off,zone=reported",
                                                 "ml-adws:steal=off"};

TEST(adws, binary_trees_are_cut_by_work) {
    for (const auto& p : without_steals) {
        EXPECT_EQ(map_of(p, 1, {}, 3), (map{0, 0, 0, 0, 0, 0, 0, 0})) << p;
        EXPECT_EQ(map_of(p, 2, {}, 3), (map{1, 1, 1, 1, 0, 0, 0, 0})) << p;
        EXPECT_EQ(map_of(p, 3, {}, 3), (map{2, 2, 1, 1, 1, 0, 0, 0})) << p;
        EXPECT_EQ(map_of(p, 4, {}, 3), (map{3, 3, 2, 2, 1, 1, 0, 0})) << p;
        EXPECT_EQ(map_of(p, 8, {}, 3), (map{7, 6, 5, 4, 3, 2, 1, 0})) << p;
    }
}

TEST(adws, quaternary_trees_are_cut_by_work) {
    for (const auto& p : without_steals) {
        EXPECT_EQ(map_of(p, 3, {.arity = 4}, 2), (map{2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0})) << p;
        EXPECT_EQ(map_of(p, 4, {.arity = 4}, 2), (map{3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0})) << p;
        EXPECT_EQ(map_of(p, 6, {.arity = 4}, 2), (map{5, 5, 4, 4, 4, 3, 3, 3, 2, 2, 1, 1, 1, 0, 0, 0})) << p;
        const map m = map_of(p, 64, {.arity = 4}, 3);
        for (std::size_t leaf = 0; leaf < 64; ++leaf) EXPECT_EQ(m[leaf], 63 - static_cast<int>(leaf)) << p;
    }
}

/// Leaf k of n goes to floor(P * (1 - (k + 1) / n)).
TEST(adws, the_map_has_a_closed_form) {
    for (const int workers : {3, 4, 5, 7, 8, 64}) {
        const map m = map_of("adws:steal=off", workers, {}, 8);
        for (int leaf = 0; leaf < 256; ++leaf)
            EXPECT_EQ(m[static_cast<std::size_t>(leaf)], workers * (255 - leaf) / 256)
                << workers << ' ' << leaf;
    }
}

TEST(adws, flat_groups_are_cut_by_work) {
    for (const auto& p : without_steals) {
        EXPECT_EQ(flat(p, 4, {1, 2, 3, 2}), (map{3, 2, 1, 0})) << p;
        EXPECT_EQ(flat(p, 4, {1, 1, 1, 1, 1, 1}), (map{3, 2, 2, 1, 0, 0})) << p;
        // Wrong hints of the thesis' 4.4.4.
        EXPECT_EQ(flat(p, 4, {.9, .95, 1.05, 1.1}), (map{3, 2, 1, 0})) << p;
        EXPECT_EQ(flat(p, 4, {.5, .75, 1.25, 1.5}), (map{3, 2, 1, 0})) << p;
        EXPECT_EQ(flat(p, 4, {1e-9, .5, 1.5, 2}), (map{3, 3, 2, 0})) << p;
    }
}

void fib(int n, const std::string& path, std::vector<std::pair<std::string, int>>& leaves) {
    if (n < 2) {
        leaves.emplace_back(path, this_worker());
        return cost(1000);
    }
    task_group g(hints{.work = 3});
    g.run([&leaves, n, path] { fib(n - 1, path + "L", leaves); }, hints{.work = 2});
    fib(n - 2, path + "R", leaves);
    g.wait();
}

/// The second call is not spawned: the caller keeps what is left.
TEST(adws, what_is_called_instead_of_spawned_keeps_the_rest) {
    modelled m("adws:steal=off", equal_cores(4));
    std::vector<std::pair<std::string, int>> leaves;
    m.run([&] { fib(5, "", leaves); });
    std::ranges::sort(leaves);
    const std::vector<std::pair<std::string, int>> expected = {
        {"LLLL", 3}, {"LLLR", 2}, {"LLR", 2}, {"LRL", 1}, {"LRR", 1}, {"RLL", 0}, {"RLR", 0}, {"RR", 0}};
    EXPECT_EQ(leaves, expected);
}

/// Every group of a task has the range that the task had before it.
TEST(adws, groups_one_after_another_have_the_same_map) {
    map expected;
    for (const int outer_group : {0, 1}) {
        static_cast<void>(outer_group);
        // Groups of the first child, twice, then of the second one.
        expected.insert(expected.end(), {2, 1, 2, 1, 0, 0, 0, 0});
    }
    EXPECT_EQ(map_of("adws:steal=off", 3, {.groups = 2}, 2), expected);

    for (const std::string policy : {"adws:steal=off", "adws"}) {
        modelled m(policy, equal_cores(4));
        const tree t{.arity = 4,
                     .leaf_cost = [](std::size_t leaf) { return std::uint64_t{900 + leaf * 7919 % 200}; }};
        std::size_t moved = 0;
        m.run([&] {
            map before;
            for (int iteration = 0; iteration < 5; ++iteration) {
                map now(t.leaves(4), -1);
                t.run(now, 0, 4);
                for (std::size_t i = 0; i < before.size(); ++i) moved += before[i] != now[i] ? 1U : 0U;
                before = now;
            }
        });
        EXPECT_LE(moved, policy == "adws" ? 4 * t.leaves(4) / 20 : 0) << policy;
    }
}

/// A group without hints is cut into halves. If the number of its children is known, each gets the same part.
TEST(adws, missing_hints) {
    modelled m("adws:steal=off", equal_cores(4));
    map halves(4, -1), equal(4, -1);
    m.run([&] {
        task_group g;
        for (std::size_t i = 0; i < 4; ++i) g.run([&, i] { halves[i] = this_worker(); });
        g.wait();
    });
    m.run([&] {
        task_group all(hints{.work = 1});
        all.run(
            [&] {
                task_group g;
                for (std::size_t i = 0; i < 4; ++i) g.run([&, i] { equal[i] = this_worker(); });
                g.wait();
            },
            hints{.work = 1, .children = 4});
        all.wait();
    });
    EXPECT_EQ(halves, (map{2, 1, 0, 0}));
    EXPECT_EQ(equal, (map{3, 2, 1, 0}));
}

std::uint64_t skewed(std::size_t leaf) { return leaf < 64 ? 1000 : 100; }

/// A quarter of the leaves has three quarters of the work, and no hint says so.
TEST(adws, steals_repair_wrong_hints) {
    const tree t{.leaf_cost = skewed};
    const auto took = [&](const std::string& policy) {
        modelled m(policy, equal_cores(8));
        map where(256, -1);
        return m.run([&] { t.run(where, 0, 8); });
    };
    const auto best = (64 * 1000 + 192 * 100) / 8;
    EXPECT_GE(took("adws:steal=off"), 32'000);
    EXPECT_LE(took("adws"), 2 * best);
    EXPECT_LE(took("adws:zone=reported"), 2 * best);
}

/// The second time it knows what the first time took.
TEST(adws, learned_work_takes_the_place_of_hints) {
    modelled m("adws:steal=off,hints=learned", equal_cores(8));
    std::vector<time_ns> took;
    const auto step = [&](auto& self, std::size_t first, std::size_t count) -> void {
        if (count == 1) return cost(skewed(first));
        join([&, first, count] { self(self, first, count / 2); },
             [&, first, count] { self(self, first + count / 2, count / 2); });
    };
    for (int i = 0; i < 4; ++i) took.push_back(m.run([&] { step(step, 0, 256); }));
    const auto best = (64 * 1000 + 192 * 100) / 8;
    EXPECT_GE(took[0], 2 * best);
    EXPECT_LE(took[3], best + best / 4);
}

// ---- several levels

/// The machine of the thesis' Fig. 5.2: four caches of capacity 8 over 16 cores of capacity 1.
machine figure_5_2() {
    return parse_toml("name = 'Fig. 5.2'\n"
                      "[[core_class]]\nname = 'core'\nfrequency_mhz = 1000\n"
                      "[regular]\npackages = 4\ndomains_per_package = 1\ncores_per_domain = 4\n"
                      "[[cache]]\nlevel = 1\nbytes = '1 KiB'\nshared_by = 'core'\n"
                      "[[cache]]\nlevel = 3\nbytes = '8 KiB'\nshared_by = 'domain'\n",
                      "Fig. 5.2");
}

TEST(ml_adws, one_part_that_fits_a_cache_after_the_other) {
    map expected;
    for (int cache = 3; cache >= 0; --cache)
        for (int part = 0; part < 2; ++part)
            for (int core = 3; core >= 0; --core) expected.insert(expected.end(), 2, cache * 4 + core);
    EXPECT_EQ(map_of("ml-adws:steal=off", figure_5_2(), {.bytes = 64 * 1024}, 6), expected);
}

TEST(ml_adws, what_fits_all_caches_together_is_cut_at_once) {
    map expected;
    for (int worker = 15; worker >= 0; --worker) expected.insert(expected.end(), 4, worker);
    EXPECT_EQ(map_of("ml-adws:steal=off", figure_5_2(), {.bytes = 32 * 1024}, 6), expected);
    EXPECT_EQ(map_of("ml-adws:steal=off", figure_5_2(), {}, 6), expected);
    EXPECT_EQ(map_of("adws:steal=off", figure_5_2(), {.bytes = 64 * 1024}, 6), expected);
}

/// Two workers under a cache for half of the data, as in the thesis' Fig. 5.1.
machine figure_5_1() {
    return parse_toml("name = 'Fig. 5.1'\n"
                      "[[core_class]]\nname = 'core'\nfrequency_mhz = 1000\n"
                      "[regular]\npackages = 1\ndomains_per_package = 1\ncores_per_domain = 2\n"
                      "[[cache]]\nlevel = 1\nbytes = '1 KiB'\nshared_by = 'core'\n"
                      "[[cache]]\nlevel = 3\nbytes = '32 KiB'\nshared_by = 'domain'\n",
                      "Fig. 5.1");
}

struct leaf_run {
    int leaf, worker;
    time_ns began;
};
constexpr std::uint64_t long_leaf = 10'000'000; // beside which the runtime's own work is nothing

/// Both children of the root have half of the data, and two groups, one after another, with a leaf for each
/// quarter. In the order in which leaves began.
std::vector<leaf_run> two_passes_over_halves(const std::string& policy) {
    constexpr std::size_t all = 64 * 1024;
    modelled m(policy, figure_5_1());
    std::vector<leaf_run> runs;
    const auto half = [&](int first_leaf) {
        for (int pass = 0; pass < 2; ++pass) {
            task_group g(hints{.work = 2, .bytes = all / 2});
            for (int i = 0; i < 2; ++i)
                g.run(
                    [&, leaf = first_leaf + 2 * pass + i] {
                        runs.push_back({leaf, this_worker(), m.engine.now()});
                        cost(long_leaf);
                    },
                    hints{.work = 1});
            g.wait();
        }
    };
    m.run([&] {
        task_group g(hints{.work = 2, .bytes = all});
        for (int i = 0; i < 2; ++i) g.run([&, i] { half(4 * i); }, hints{.work = 1});
        g.wait();
    });
    return runs;
}

/// The i-th leaf and its neighbour in time run together.
bool are_pairs(const std::vector<leaf_run>& runs) {
    for (std::size_t i = 1; i < runs.size(); i += 2)
        if (runs[i].began - runs[i - 1].began > static_cast<time_ns>(long_leaf) / 10) return false;
    return true;
}

int quarter_of(int leaf) { return leaf / 4 * 2 + leaf % 2; }

/// Of leaves that each use one quarter of the data, under a cache that holds two: how many do not find it.
int misses_of(const std::vector<leaf_run>& runs) {
    std::vector<int> held; // the latest last
    int misses = 0;
    for (const leaf_run& r : runs) {
        const bool hit = std::erase(held, quarter_of(r.leaf)) > 0;
        misses += !hit;
        if (held.size() == 2) held.erase(held.begin());
        held.push_back(quarter_of(r.leaf));
    }
    return misses;
}

TEST(ml_adws, the_second_pass_over_a_half_finds_it_in_the_cache) {
    const auto runs = two_passes_over_halves("ml-adws:steal=off");
    ASSERT_EQ(runs.size(), 8U);
    for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(runs[i].leaf / 2, static_cast<int>(i) / 2) << i; // two at a time, in serial order
        EXPECT_EQ(runs[i].worker, runs[i].leaf % 2 == 0 ? 1 : 0) << i;
    }
    EXPECT_TRUE(are_pairs(runs));
    EXPECT_EQ(misses_of(runs), 4);
}

TEST(ml_adws, on_one_level_both_halves_are_in_use_at_a_time) {
    const auto runs = two_passes_over_halves("adws:steal=off");
    ASSERT_EQ(runs.size(), 8U);
    for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(runs[i].worker, runs[i].leaf < 4 ? 1 : 0) << i;
        EXPECT_EQ(runs[i].leaf % 4, static_cast<int>(i) / 2) << i;
    }
    EXPECT_TRUE(are_pairs(runs));
    EXPECT_EQ(misses_of(runs), 8);
}

} // namespace
} // namespace weft
