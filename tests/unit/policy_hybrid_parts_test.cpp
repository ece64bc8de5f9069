// What `hybrid` knows of tasks and cores, and how it decides by it.
#include "policy/parts/idle_places.hpp"
#include "policy/parts/level_queue.hpp"
#include "policy/parts/running_work.hpp"
#include "policy/parts/work_history.hpp"

#include "machine/load.hpp"
#include "policy/fake_context.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft::test {
namespace {

machine on(const char* name) { return load_machine(std::string(WEFT_SOURCE_DIR "/machines/") + name); }

struct known {
    machine m;
    fake_context context;
    core_groups groups;
    work_history history;

    explicit known(const char* name) : m(on(name)), context(m.size()) {
        groups.attach(m, context);
        history.attach(groups, m.size());
    }
};

task_with_bytes named(const char* name, double work = 0) {
    task_with_bytes t;
    t.hint_.name = name;
    t.hint_.work = work;
    return t;
}

TEST(work_history, needs_two_tasks_that_agree) {
    known k("opteron-8380-a-8-0-0-8.toml");
    const auto c = k.history.find_or_add(named("f"));
    EXPECT_EQ(k.history.time_on(c, 1, 0), 0);
    k.history.completed(c, 0, 1, 1000);
    EXPECT_EQ(k.history.time_on(c, 1, 0), 0);
    k.history.completed(c, 1, 1, 1000);
    EXPECT_DOUBLE_EQ(k.history.time_on(c, 1, 0), 1000);
    EXPECT_DOUBLE_EQ(k.history.time_on(c, 3, 0), 3000);         // three units of work
    EXPECT_DOUBLE_EQ(k.history.time_on(c, 1, 15), 1000 / 0.32); // by the known speeds
    k.history.completed(c, 15, 1, 1500), k.history.completed(c, 15, 1, 1500);
    EXPECT_DOUBLE_EQ(k.history.time_on(c, 1, 15), 1500); // as measured

    const auto wild = k.history.find_or_add(named("any size"));
    for (const time_ns ns : {10, 100'000, 20, 300'000}) k.history.completed(wild, 0, 1, ns);
    EXPECT_EQ(k.history.time_on(wild, 1, 0), 0);
}

TEST(work_history, a_core_whose_tasks_take_longer_than_on_its_equals_is_slow) {
    known k("opteron-8380-4x4.toml");
    const auto c = k.history.find_or_add(named("f"));
    EXPECT_FALSE(k.history.are_unequal());
    for (int round = 0; round < 40; ++round)
        for (const int core : {0, 1, 2, 3}) k.history.completed(c, core, 1, core == 3 ? 3000 : 1000);
    EXPECT_TRUE(k.history.are_unequal());
    EXPECT_DOUBLE_EQ(k.history.speed_of(0), 1);
    EXPECT_LT(k.history.speed_of(3), 0.6);
    for (int round = 0; round < 100; ++round)
        for (const int core : {0, 1, 2, 3}) k.history.completed(c, core, 1, 1000);
    EXPECT_DOUBLE_EQ(k.history.speed_of(3), 1); // it has recovered
}

TEST(work_history, a_few_tasks_or_small_differences_do_not_make_a_core_slow) {
    known k("opteron-8380-4x4.toml");
    const auto c = k.history.find_or_add(named("f"));
    for (int round = 0; round < 50; ++round)
        for (const int core : {0, 1, 2, 3}) k.history.completed(c, core, 1, core == 3 ? 1150 : 1000);
    for (int i = 0; i < 6; ++i) k.history.completed(c, 4, 1, 2000);
    EXPECT_FALSE(k.history.are_unequal());
}

TEST(running_work, a_known_task_has_left_what_it_has_not_done_on_each_of_its_cores) {
    known k("opteron-8380-a-8-0-0-8.toml");
    running_work running;
    running.attach(k.history, k.context);
    const auto t = named("f");
    const auto c = k.history.find_or_add(t);
    for (const int core : {0, 0, 15, 15}) k.history.completed(c, core, 1, core == 0 ? 1000 : 4000);
    k.context.time = 0;
    running.finds(15, t, true);
    k.context.time = 2000; // half of it is done on the slow core
    EXPECT_DOUBLE_EQ(running.of(15, 0).here, 2000);
    EXPECT_DOUBLE_EQ(running.of(15, 0).there, 500);
    running.moves(15);
    k.context.exchange(15, 0);
    k.context.time = 2250;
    EXPECT_DOUBLE_EQ(running.of(15, 15).here, 250);
    running.rests(15);
    EXPECT_FALSE(running.of(15, 0).busy);
}

TEST(running_work, an_unknown_task_has_left_as_much_as_it_has_done) {
    known k("opteron-8380-a-8-0-0-8.toml");
    running_work running;
    running.attach(k.history, k.context);
    k.context.time = 0;
    running.finds(15, named("g"), false);
    k.context.time = 1000;
    EXPECT_DOUBLE_EQ(running.of(15, 0).here, 1000);
    EXPECT_DOUBLE_EQ(running.of(15, 0).there, 320);
}

// Calls of a pipeline's stage go on with the next stages, so one may take a thousand times what its class does.
TEST(running_work, a_task_far_beyond_what_its_class_takes_is_unknown) {
    known k("opteron-8380-a-8-0-0-8.toml");
    running_work running;
    running.attach(k.history, k.context);
    const auto t = named("f");
    const auto c = k.history.find_or_add(t);
    for (const int core : {0, 0, 15, 15}) k.history.completed(c, core, 1, 1000); // on either kind of core
    k.context.time = 0;
    running.finds(15, t, true);
    k.context.time = 1500;
    EXPECT_DOUBLE_EQ(running.of(15, 0).here, running.of(15, 0).there); // a fast core brings nothing
    k.context.time = 10'000;
    EXPECT_DOUBLE_EQ(running.of(15, 0).here, 10'000);
    EXPECT_DOUBLE_EQ(running.of(15, 0).there, 3200);
}

TEST(running_work, only_tasks_that_ran_on_one_core_alone_are_learned_from) {
    known k("opteron-8380-a-8-0-0-8.toml");
    running_work running;
    running.attach(k.history, k.context);
    const auto t = named("f");
    const auto c = k.history.find_or_add(t);
    const auto run = [&](bool moves, bool waits) {
        running.finds(15, t, true);
        running.starts(15);
        k.context.time += 500;
        if (moves) running.moves(15);
        if (waits) running.rests(15), running.resumes(15, t);
        k.context.time += 500;
        running.leaves(15, true);
    };
    for (int i = 0; i < 4; ++i) run(true, false), run(false, true);
    EXPECT_EQ(k.history.time_on(c, 1, 15), 0);
    run(false, false), run(false, false);
    EXPECT_DOUBLE_EQ(k.history.time_on(c, 1, 15), 1000);
}

TEST(level_queue, the_farthest_from_the_end_comes_first_then_the_longest_then_the_oldest) {
    task_with_bytes far, longer, older, younger;
    far.bottom_level_ = 5;
    level_queue q;
    q.push(older, 10);
    q.push(younger, 10);
    q.push(longer, 20);
    EXPECT_DOUBLE_EQ(q.first_expected(), 20);
    q.push(far, 1);
    EXPECT_EQ(q.first_level(), 5);
    for (task* const t : {&far, &longer, &older, &younger}) EXPECT_EQ(q.pop(), t);
    EXPECT_TRUE(q.empty());
    EXPECT_EQ(q.pop(), nullptr);
}

TEST(idle_places, the_place_in_which_the_task_ends_first_of_those_that_are_idle) {
    const machine m = on("hikey960.toml"); // 0 to 3 are fast
    fake_context context(8);
    core_groups groups;
    groups.attach(m, context);
    idle_places places;
    places.attach(m, context, groups);
    const int type = places.type_of(7);
    const auto all = [](worker_id) { return true; };
    EXPECT_EQ(places.choose(5, type, 4, all).leader, 0); // never measured: wide and fast
    EXPECT_EQ(places.choose(5, type, 4, all).width, 4);
    EXPECT_EQ(places.choose(5, type, 2, all).width, 2);
    const auto slow_ones = [](worker_id v) { return v >= 4; };
    EXPECT_EQ(places.choose(5, type, 4, slow_ones).leader, 4);
    EXPECT_EQ(places.choose(5, type, 4, [](worker_id v) { return v > 6; }).width, 1); // 4 and 6 are busy
    places.took(type, {0, 4}, 900); // no faster than two, so two are enough
    places.took(type, {0, 2}, 800);
    places.took(type, {0, 1}, 1000);
    EXPECT_EQ(places.choose(5, type, 4, all).width, 2);
}

} // namespace
} // namespace weft::test
