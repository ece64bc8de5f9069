// What the policies of moldable tasks and of unequal cores are made of, with the figures of their sources.
#include "policy/parts/assembly_queues.hpp"
#include "policy/parts/core_clusters.hpp"
#include "policy/parts/elastic_places.hpp"
#include "policy/parts/finish_times.hpp"
#include "policy/parts/molding_rules.hpp"
#include "policy/parts/performance_trace_table.hpp"
#include "policy/parts/running_criticality.hpp"
#include "policy/parts/weight_threshold.hpp"
#include "policy/seam/registry.hpp"

#include "machine/load.hpp"
#include "policy/fake_context.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {
namespace {

machine big_and_little() { return load_machine(WEFT_SOURCE_DIR "/machines/hikey960.toml"); }

TEST(mixed_mode, a_place_has_its_leader_at_a_multiple_of_its_width) {
    const workers all{0, 8};
    const auto leader = [&](worker_id w, int width) { return place_around(w, width, all).leader; };
    EXPECT_EQ(leader(7, 4), 4); // the paper's example
    EXPECT_EQ(leader(3, 4), 0);
    EXPECT_EQ(leader(5, 2), 4);
    EXPECT_EQ(leader(5, 1), 5);
    EXPECT_EQ(leader(5, 8), 0);
    EXPECT_EQ(place_around(5, 3, all).width, 2); // a power of two
}

TEST(mixed_mode, a_place_does_not_leave_its_cluster) {
    const workers six{6, 12}; // begins at no multiple of 4, and ends in the middle of a place
    EXPECT_EQ(place_around(7, 4, six).leader, 6);
    EXPECT_EQ(place_around(7, 4, six).width, 4);
    EXPECT_EQ(place_around(11, 4, six).leader, 10);
    EXPECT_EQ(place_around(11, 4, six).width, 2);
    EXPECT_EQ(place_around(9, 64, six).width, 4);
    for (worker_id w = 6; w < 12; ++w)
        for (int width = 1; width <= 16; ++width) {
            const elastic_place p = place_around(w, width, six);
            EXPECT_TRUE(p.leader >= 6 && p.leader + p.width <= 12 && p.leader <= w && w < p.leader + p.width);
        }
}

TEST(mixed_mode, the_clusters_of_unequal_cores) {
    const machine m = big_and_little();
    const test::fake_context context(8);
    core_clusters c;
    c.attach(m, context, false);
    ASSERT_EQ(c.count(), 2);
    EXPECT_EQ(c.members(0).last, 4);
    EXPECT_EQ(c.of(3), 0);
    EXPECT_EQ(c.of(4), 1);
    core_clusters joined;
    joined.attach(m, context, true);
    EXPECT_EQ(joined.count(), 1);
    EXPECT_EQ(joined.widest(), 8);
}

TEST(mixed_mode, the_trace_table_weighs_what_it_has_four_times) {
    const machine m = big_and_little();
    const test::fake_context context(8);
    performance_trace_table table;
    table.attach(m, context, false);
    const int type = table.type_of(7);
    const elastic_place at{4, 2};
    EXPECT_EQ(table.time(type, at), 0);
    table.update(type, at, 100);
    EXPECT_EQ(table.time(type, at), 100);
    table.update(type, at, 200);
    EXPECT_EQ(table.time(type, at), 120);
    table.update(type, at, 120);
    EXPECT_EQ(table.time(type, at), 120);
    EXPECT_EQ(table.time(type, {4, 4}), 0); // other widths, leaders and types are not touched
    EXPECT_EQ(table.time(type, {5, 1}), 0);
    EXPECT_EQ(table.time(table.type_of(8), at), 0);
    EXPECT_EQ(table.type_of(7), type);

    performance_trace_table literal;
    literal.attach(m, context, true);
    literal.update(literal.type_of(7), at, 100);
    EXPECT_EQ(literal.time(literal.type_of(7), at), 20);
}

TEST(mixed_mode, what_was_not_measured_here_took_what_it_took_on_a_core_of_the_same_class) {
    const machine m = big_and_little();
    const test::fake_context context(8);
    performance_trace_table table;
    table.attach(m, context, false);
    const int type = table.type_of(7);
    table.update(type, {2, 1}, 100);
    EXPECT_EQ(table.time_like(type, {2, 1}), 100);
    EXPECT_EQ(table.time_like(type, {0, 1}), 100); // big, too
    EXPECT_EQ(table.time_like(type, {4, 1}), 0);   // LITTLE
    table.update(type, {0, 1}, 300);
    EXPECT_EQ(table.time_like(type, {0, 1}), 300);
    EXPECT_EQ(table.time_like(type, {3, 1}), 300); // the first that has run it
    table.update(type, {2, 2}, 50);                // of two workers: says nothing of one
    EXPECT_EQ(table.time_like(type, {2, 1}), 100);
}

TEST(mixed_mode, the_trace_table_keeps_no_more_types_than_it_has_room_for) {
    performance_trace_table table;
    table.attach(big_and_little(), test::fake_context(8), false);
    std::vector<int> seen;
    for (int i = 1; i <= performance_trace_table::most_types; ++i)
        seen.push_back(table.type_of(static_cast<std::uint64_t>(i)));
    for (const int type : seen) EXPECT_NE(type, performance_trace_table::no_type);
    const int none = table.type_of(9999);
    EXPECT_EQ(none, performance_trace_table::no_type);
    table.update(none, {0, 1}, 100);
    EXPECT_EQ(table.time(none, {0, 1}), 0);
}

TEST(mixed_mode, the_threshold_follows_the_weights) {
    weight_threshold t;
    EXPECT_EQ(t.judge(100, 220), weight_threshold::side::big); // 2.2 against 1.5
    EXPECT_NEAR(t.threshold(), 1.6, 1e-12);
    EXPECT_EQ(t.judge(0, 220), weight_threshold::side::big); // not measured yet: there, and nothing changes
    EXPECT_EQ(t.judge(100, 0), weight_threshold::side::little);
    EXPECT_NEAR(t.threshold(), 1.6, 1e-12);
    weight_threshold equal;
    EXPECT_EQ(equal.judge(100, 150), weight_threshold::side::little); // equal to the threshold
}

TEST(mixed_mode, history_takes_the_least_product_of_time_and_width) {
    const times_by_width times{100, 60, 40};            // at the widths 1, 2, 4
    EXPECT_EQ(width_by_history(4, 4, times, false), 1); // 100 < 160
    EXPECT_EQ(width_by_history(1, 4, times, false), 1);
    EXPECT_EQ(width_by_history(4, 4, times, true), 4);          // as printed: nothing is below 40
    EXPECT_EQ(width_by_history(1, 4, {100, 45, 20}, false), 4); // wider is cheaper: 80 < 90 < 100
    EXPECT_EQ(width_by_history(2, 4, {100, 60, 0}, false), 4);  // never measured
    EXPECT_EQ(width_by_history(2, 4, {100, 0, 40}, false), 2);  // the present width first
    EXPECT_EQ(width_by_history(1, 2, {100, 50, 1}, false), 1);  // equal is not smaller; 4 is too wide here
}

TEST(mixed_mode, the_load_widens_what_few_tasks_leave_free) {
    EXPECT_EQ(width_by_load(1, 8, 1), 8);
    EXPECT_EQ(width_by_load(1, 8, 3), 2);
    EXPECT_EQ(width_by_load(4, 8, 3), 4); // it makes no task narrower
    EXPECT_EQ(width_by_load(1, 4, 4), std::nullopt);
    EXPECT_EQ(width_by_load(1, 1, 5), std::nullopt);
}

TEST(mixed_mode, the_running_task_that_ends_does_not_count_for_its_successor) {
    running_criticality c;
    c.attach(3);
    std::array<test::task_with_bytes, 3> t;
    for (int i = 0; i < 3; ++i) {
        t[static_cast<std::size_t>(i)].bottom_level_ = i + 3;
        t[static_cast<std::size_t>(i)].graph_number_ = static_cast<std::uint32_t>(i);
    }
    c.runs(0, t[2]); // 5
    c.runs(1, t[2]); // its other share
    c.runs(2, t[0]); // 3
    EXPECT_EQ(c.most_but_of(0), 3);
    EXPECT_EQ(c.most_but_of(2), 5);
    EXPECT_TRUE(c.is_critical(0, t[1]));
    EXPECT_FALSE(c.is_critical(2, t[1]));
    c.ends(0), c.ends(1);
    EXPECT_TRUE(c.is_critical(2, t[1]));
}

TEST(mixed_mode, two_tasks_stand_in_the_same_order_in_all_queues) {
    const machine m = big_and_little();
    const test::fake_context context(8);
    core_clusters clusters;
    clusters.attach(m, context, false);
    assembly_queues q;
    q.attach(clusters, 8);
    std::array<test::task_with_bytes, 6> t;
    task* const four[] = {&t[0], &t[1], &t[2], &t[3]};
    task* const two[] = {&t[4], &t[5]};
    q.put(four, {0, 4});
    q.put(two, {2, 2});
    EXPECT_EQ(q.take(2), &t[2]);
    EXPECT_EQ(q.take(2), &t[4]);
    EXPECT_EQ(q.take(2), nullptr);
    EXPECT_EQ(q.take(4), nullptr);
    EXPECT_EQ(q.take(3), &t[3]);
    EXPECT_EQ(q.take(0), &t[0]);
    EXPECT_EQ(q.take(3), &t[5]);
    EXPECT_EQ(q.take(1), &t[1]);
}

/// A graph that is written down.
struct written_graph final : graph_view {
    std::vector<std::vector<std::uint32_t>> after;
    std::vector<double> work;
    std::vector<hints> all;
    std::uint64_t id() const noexcept override { return 1; }
    std::uint32_t size() const noexcept override { return static_cast<std::uint32_t>(after.size()); }
    std::uint32_t first_new() const noexcept override { return 0; }
    const hints& hint(std::uint32_t t) const noexcept override { return all[t]; }
    int bottom_level(std::uint32_t t) const noexcept override {
        int most = 0;
        for (const auto s : after[t]) most = std::max(most, bottom_level(s));
        return most + 1;
    }
    void predecessors(std::uint32_t t, void (*each)(void*, std::uint32_t), void* with) const override {
        for (std::uint32_t u = 0; u < size(); ++u)
            for (const auto s : after[u])
                if (s == t) each(with, u);
    }
    void successors(std::uint32_t t, void (*each)(void*, std::uint32_t), void* with) const override {
        for (const auto s : after[t]) each(with, s);
    }
};

TEST(mixed_mode, heft_gives_each_task_its_earliest_finish_and_fills_gaps) {
    // 0 before 1 before 2, and 3 beside them, with the costs {2, 6, 2, 2} on worker 0, three times as much on worker 1.
    written_graph g;
    g.after = {{1}, {2}, {}, {}};
    const std::vector<double> costs{2, 6, 2, 2};
    finish_times plan(2);
    plan.extend(g, [&](std::uint32_t t, worker_id w) { return costs[t] * (w == 0 ? 1 : 3); });
    EXPECT_EQ(plan.of(0).worker, 0);
    EXPECT_EQ(plan.of(1).start, 2);
    EXPECT_EQ(plan.of(2).finish, 10);
    EXPECT_EQ(plan.of(3).worker, 1); // ends at 6 there, at 12 on the fast worker
    EXPECT_EQ(plan.of(3).finish, 6);
    // A short task that comes later fits in no gap of worker 0; after a long one on worker 1 it would end at 9.
    g.after.push_back({});
    plan.extend(g, [&](std::uint32_t, worker_id w) { return w == 0 ? 1.0 : 3.0; });
    EXPECT_EQ(plan.of(4).worker, 1);
    EXPECT_EQ(plan.of(4).start, 6);
    EXPECT_EQ(plan.of(1).start, 2); // what was planned stays
}

TEST(mixed_mode, heft_inserts_into_a_gap) {
    // Ranks: 0 (3) before 1 (2); 2 waits for 0. On worker 1 task 0 cannot run in time, so task 1 is behind it on worker 0.
    written_graph g;
    g.after = {{2}, {2}, {}, {}};
    const double costs[][2] = {{4, 9}, {9, 2}, {3, 9}, {2, 2}};
    finish_times plan(2);
    plan.extend(g, [&](std::uint32_t t, worker_id w) { return costs[t][w]; });
    EXPECT_EQ(plan.of(0).worker, 0);
    EXPECT_EQ(plan.of(1).worker, 1);
    EXPECT_EQ(plan.of(2).start, 4);
    EXPECT_EQ(plan.of(3).worker, 1); // behind task 1: ends at 4
    EXPECT_EQ(plan.of(3).start, 2);
}

TEST(mixed_mode, xitao_refuses_molding_without_a_table) {
    EXPECT_THROW(make_policy("xitao:place=random,mold=both"), error);
    EXPECT_THROW(make_policy("xitao:place=critical,mold=load"), error);
    EXPECT_NO_THROW(make_policy("xitao:place=random,mold=off"));
    EXPECT_NO_THROW(make_policy("xitao:place=weight"));
}

} // namespace
} // namespace weft
