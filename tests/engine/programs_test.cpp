// Several programs on one modelled machine: which worker has a core, and which program is on which cache.
#include <weft/programs.hpp>
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

/// A cycle is a nanosecond; the runtime costs what it costs where a file does not say. Two last-level caches, each with `cores` cores.
class machine_file {
public:
    explicit machine_file(int cores, int domains = 2) {
        const int f = mkstemps(name_.data(), 5);
        EXPECT_GE(f, 0);
        close(f);
        std::ofstream(name_)
            << "name = 'two caches'\n[[core_class]]\nname = 'core'\nfrequency_mhz = 1000\n[regular]\n"
            << "packages = " << domains << "\ncores_per_domain = " << cores << R"(
[[memory_node]]
count = )" << domains
            << R"(
bytes = "4 GiB"
bandwidth_gbps = 10
latency_ns = 100
[[cache]]
level = 3
bytes = "1 MiB"
latency_ns = 10
shared_by = "domain"
[[disk]]
name = "disk"
bandwidth_gbps = 1
latency_ns = 1000
)";
    }
    ~machine_file() { unlink(name_.c_str()); }
    machine_file(const machine_file&) = delete;
    machine_file& operator=(const machine_file&) = delete;
    const std::string& name() const { return name_; }

private:
    std::string name_ = testing::TempDir() + "weft-machine-XXXXXX.toml";
};

/// Runtimes on one machine.
class runtimes {
public:
    runtimes(const machine_file& m, int count, const std::string& policy = "steal") {
        for (int i = 0; i < count; ++i) {
            runtime_options o{
                .policy = policy, .engine = "model", .seed = 7, .spin = 0us, .costs = "declared"};
            if (i == 0)
                o.machine = m.name();
            else
                o.beside = all_.front().get();
            all_.push_back(std::make_unique<runtime>(o));
        }
    }
    std::vector<together_program> run(const std::vector<std::function<void()>>& what) {
        std::vector<together_program> programs;
        for (std::size_t i = 0; i < what.size(); ++i) programs.push_back({all_[i].get(), what[i]});
        return programs;
    }
    runtime& at(std::size_t i) { return *all_[i]; }

private:
    std::vector<std::unique_ptr<runtime>> all_;
};

constexpr std::uint64_t ms = 1'000'000; // cycles

void in_parallel(int tasks, std::uint64_t cycles) {
    task_group g;
    for (int i = 0; i < tasks; ++i) g.run([=] { cost(cycles); });
    g.wait();
}

TEST(programs, have_a_core_each_if_there_are_enough) {
    const machine_file m(1);
    runtimes on(m, 2);
    const auto stats = run_together(on.run({[] { cost(10 * ms); }, [] { cost(4 * ms); }}), {.repeats = 3});
    EXPECT_EQ(stats.seconds[0], std::vector(3, 0.010));
    ASSERT_GE(stats.seconds[1].size(), 7U) << "it runs on until the other one has run three times";
    EXPECT_DOUBLE_EQ(stats.seconds[1][0], 0.004);
}

TEST(programs, share_a_core_by_halves) {
    const machine_file m(1, 1);
    runtimes on(m, 2);
    const auto stats = run_together(on.run({[] { cost(200 * ms); }, [] { cost(200 * ms); }}), {.repeats = 2});
    for (const auto& each : stats.seconds)
        for (const double s : each) EXPECT_NEAR(s, 0.400, 0.03) << "slices are 12.5 ms";
}

TEST(programs, with_more_workers_get_a_share_for_each_of_them) {
    const machine_file m(2, 1);
    runtimes on(m, 3);
    // Three programs with two workers each on two cores, which they share as the kernel happens to place them.
    const auto work = [] { in_parallel(2, 200 * ms); };
    const auto stats = run_together(on.run({work, work, work}), {.repeats = 3});
    double sum = 0;
    for (const auto& each : stats.seconds) sum += each.front();
    EXPECT_NEAR(sum / 3, 0.600, 0.1);
}

TEST(programs, leave_their_cores_to_others_while_they_sleep) {
    const machine_file m(2, 1);
    runtimes on(m, 2);
    const auto sleeper = [] {
        cost(10 * ms);
        this_task::sleep_for(10s);
    };
    const auto stats = run_together(on.run({sleeper, [] { in_parallel(2, 100 * ms); }}));
    EXPECT_NEAR(stats.seconds[1][0], 0.105, 0.011) << "two cores, but for 10 ms";
    EXPECT_NEAR(stats.seconds[0][0], 10.01, 0.03);
}

TEST(programs, under_callisto_have_cores_of_their_own) {
    const machine_file m(1);
    runtimes on(m, 2);
    const auto stats = run_together(on.run({[] { in_parallel(2, 100 * ms); }, [] { cost(300 * ms); }}),
                                    {.scheduler = "callisto", .repeats = 1});
    EXPECT_NEAR(stats.seconds[0][0], 0.200, 1e-5) << "one core of two";
    EXPECT_DOUBLE_EQ(stats.seconds[1][0], 0.300);
    EXPECT_EQ(on.at(0).active_workers(), 2) << "all cores again";
    const auto free =
        run_together(on.run({[] { in_parallel(2, 100 * ms); }, [] { this_task::sleep_for(1s); }}));
    EXPECT_NEAR(free.seconds[0][0], 0.100, 0.03);
}

TEST(programs, that_stay_where_they_are_put_share_their_cache_or_do_not) {
    const machine_file m(2);
    std::vector<char> a(std::size_t{16} << 20), b(a.size());
    const auto sweep = [](std::vector<char>& over) {
        return [&over] {
            task_group g;
            for (std::size_t i = 0; i < over.size(); i += std::size_t{1} << 20)
                g.run([&over, i] { touch(over.data() + i, std::size_t{1} << 20, access::read); });
            g.wait();
        };
    };
    const auto mean = [&](const std::vector<int>& domains) {
        runtimes on(m, 2);
        const auto stats = run_together(on.run({sweep(a), sweep(b)}),
                                        {.scheduler = "lira-static", .repeats = 3, .domains = domains});
        EXPECT_EQ(stats.domains, domains);
        EXPECT_EQ(stats.moves, 0);
        return stats.seconds[0].back();
    };
    EXPECT_GT(mean({0, 0}), 1.5 * mean({0, 1})) << "both stream from memory, which is the limit";
}

TEST(programs, that_are_put_on_one_cache_have_cores_of_their_own) {
    const machine_file m(2, 1);
    runtimes on(m, 2);
    const auto work = [] { in_parallel(2, 100 * ms); };
    const auto stats = run_together(on.run({work, work}), {.scheduler = "lira-static", .domains = {0, 0}});
    for (const auto& each : stats.seconds) EXPECT_NEAR(each.front(), 0.200, 1e-5) << "one core of two";
}

TEST(programs, have_no_more_cores_than_they_may) {
    const machine_file m(4);
    runtimes on(m, 2);
    const auto work = [] { in_parallel(4, 100 * ms); };
    for (const std::vector<int>& domains : {std::vector{0, 0}, {0, 1}, {}}) {
        const auto stats = run_together(
            on.run({work, work}),
            {.scheduler = domains.empty() ? "callisto" : "lira-static", .domains = domains, .most_cores = 1});
        for (const auto& each : stats.seconds) EXPECT_NEAR(each.front(), 0.400, 1e-5);
    }
}

TEST(programs, are_paired_by_their_rates) {
    const machine_file m(2);
    std::vector<std::vector<char>> data(4, std::vector<char>(std::size_t{4} << 20));
    const auto loads = [&](std::size_t i, std::size_t bytes) {
        return [&data, i, bytes] {
            in_parallel(4, 100'000);
            if (bytes) touch(data[i].data(), bytes, access::read);
        };
    };
    runtimes on(m, 4);
    const auto stats =
        run_together(on.run({loads(0, 4 << 20), loads(1, 3 << 20), loads(2, 64), loads(3, 0)}),
                     {.scheduler = "lira-adaptive", .repeats = 20, .period = 1ms, .counter_period = 2ms});
    ASSERT_EQ(stats.domains.size(), 4U);
    EXPECT_NE(stats.domains[0], stats.domains[1]) << "the two that load most are not together";
    EXPECT_GT(stats.rates[0], stats.rates[2]);
    EXPECT_EQ(stats.rates[3], 0);
}

TEST(programs, leave_their_cores_to_others_while_they_wait_for_a_disk) {
    const machine_file m(1, 1);
    runtimes on(m, 2);
    const auto stats = run_together(on.run({[] { transfer("disk", 100 * ms); }, [] { cost(100 * ms); }}));
    EXPECT_NEAR(stats.seconds[0][0], 0.100, 0.001) << "a byte is a nanosecond";
    EXPECT_NEAR(stats.seconds[1][0], 0.100, 0.001);
}

// ---- threads of low priority

constexpr together_options lending{.scheduler = "callisto", .lends = true};

void busy_for(int tasks) { in_parallel(tasks, ms); }

TEST(programs, of_low_priority_run_while_the_core_of_another_one_is_unused) {
    const machine_file m(1);
    const auto sleeper = [] {
        cost(ms);
        this_task::sleep_for(1s);
    };
    const auto busy = [] { busy_for(200); };
    runtimes apart(m, 2), with(m, 2), longer(m, 2);
    EXPECT_NEAR(run_together(apart.run({sleeper, busy}), {.scheduler = "callisto"}).seconds[1][0], 0.200,
                0.001);
    EXPECT_NEAR(run_together(with.run({sleeper, busy}), lending).seconds[1][0], 0.1055, 0.0015)
        << "two cores, but for the 11 ms before the second one is lent";
    together_options later = lending;
    later.hysteresis = 100ms;
    EXPECT_NEAR(run_together(longer.run({sleeper, busy}), later).seconds[1][0], 0.1505, 0.0015);
}

TEST(programs, of_high_priority_get_their_core_back_after_the_hysteresis_and_a_task) {
    const machine_file m(1);
    runtimes on(m, 2);
    const auto sleeper = [] {
        this_task::sleep_for(100ms);
        cost(50 * ms);
    };
    const auto stats = run_together(on.run({sleeper, [] { busy_for(1000); }}), lending);
    EXPECT_GE(stats.seconds[0][0], 0.160);
    EXPECT_LE(stats.seconds[0][0], 0.1612) << "10 ms, and at most a task of one";
}

TEST(programs, of_high_priority_keep_their_core_through_short_waits) {
    const machine_file m(1);
    runtimes on(m, 2);
    const auto blinker = [] {
        for (int i = 0; i < 20; ++i) {
            this_task::sleep_for(5ms);
            cost(5 * ms);
        }
    };
    const auto stats = run_together(on.run({blinker, [] { busy_for(150); }}), lending);
    EXPECT_NEAR(stats.seconds[0][0], 0.200, 0.002) << "it waits for no other one";
    EXPECT_NEAR(stats.seconds[1][0], 0.150, 0.001) << "on its own core alone";
}

TEST(programs, of_low_priority_have_no_part_of_a_core_that_is_used) {
    const machine_file m(2);
    runtimes on(m, 4);
    // Four programs on four cores, each with work for all of them.
    const auto work = [] { busy_for(40); };
    for (const std::string scheduler : {"callisto", "lira-adaptive"}) {
        const auto stats =
            run_together(on.run({work, work, work, work}), {.scheduler = scheduler, .lends = true});
        for (const auto& each : stats.seconds) EXPECT_NEAR(each.front(), 0.040, 0.001) << scheduler;
    }
    // Afterwards they share all cores again.
    const auto free = run_together(on.run({work, work, work, work}));
    std::vector<double> first;
    for (const auto& each : free.seconds) first.push_back(each.front());
    EXPECT_LT(*std::min_element(first.begin(), first.end()), 0.020) << "on more than a core";
}

TEST(programs, of_low_priority_have_the_core_again_after_a_task_that_they_had_begun) {
    const machine_file m(3, 1);
    runtimes on(m, 3);
    // The two that are busy have begun a task each on the core of the third one when it wakes up for a moment. One of them ends its task
    // when that one sleeps again, and gives the core back to a worker that sleeps.
    const auto sleeper = [] {
        this_task::sleep_for(100ms);
        cost(5 * ms);
        this_task::sleep_for(2s);
    };
    const auto busy = [] { in_parallel(40, 25 * ms); };
    const auto stats = run_together(on.run({sleeper, busy, busy}), lending);
    EXPECT_LE(stats.seconds[1][0] + stats.seconds[2][0], 2 * 0.75) << "three cores for two seconds of work";
}

// An answer that comes late finds its asker without a core: the deadline has passed, and another program has the core meanwhile.
TEST(programs, that_ask_each_other_for_work_have_one_worker_on_a_core) {
    const machine_file m(2, 1);
    const std::function<void(int)> forks = [&](int depth) {
        if (depth == 0) return cost(ms / 2);
        join([&] { forks(depth - 1); }, [&] { forks(depth - 1); });
    };
    const auto work = [&] {
        for (int k = 0; k < 20; ++k) {
            forks(3);
            this_task::sleep_for(100us);
        }
    };
    for (const bool lends : {false, true}) {
        runtimes on(m, 3);
        together_options how;
        if (lends) how = {.scheduler = "callisto", .lends = true, .hysteresis = 1ms};
        const auto stats = run_together(on.run({work, work, work}), how);
        double sum = 0;
        for (const auto& each : stats.seconds) sum += each.front();
        EXPECT_GE(sum, 3 * 0.100) << "240 ms of work on two cores";
    }
}

TEST(programs, with_loops_that_cannot_be_stolen_run_under_low_priority_too) {
    const machine_file m(2, 1);
    runtimes on(m, 2, "static:outermost=first");
    // Each loop has a share for each of the two workers; the second worker of a program is of low priority.
    const auto loops = [] {
        for (int k = 0; k < 3; ++k) parallel_for(0, 2, [](int) { cost(ms); });
        this_task::sleep_for(40ms);
    };
    const auto stats = run_together(on.run({loops, loops}), lending);
    for (const auto& each : stats.seconds)
        EXPECT_GT(each.front(), 0.043) << "they wait for each other's cores";
}

TEST(programs, that_are_moved_end_the_tasks_that_they_had_begun) {
    const machine_file m(2);
    std::vector<std::vector<char>> data(2, std::vector<char>(std::size_t{4} << 20));
    // The second task of `working` is on the core that `sleeping` does not use. Then the two that load much, and never wait, are counted
    // and parted, so `working` has one of them for its neighbour, wherever it is.
    const auto working = [] {
        in_parallel(2, 5 * ms);
        in_parallel(2, 40 * ms);
    };
    const auto sleeping = [] { this_task::sleep_for(200ms); };
    std::vector<int> order{0, 1, 2, 3};
    int moves = 0;
    do {
        int runs = 0;
        const auto loading = [&](std::size_t i) {
            return [&, i] {
                if (++runs > 1000) throw std::runtime_error("another program has waited for ever");
                for (int k = 0; k < 10; ++k) {
                    cost(ms);
                    touch(data[i].data(), data[i].size(), access::read);
                }
            };
        };
        const std::vector<std::function<void()>> all{working, sleeping, loading(0), loading(1)};
        std::vector<std::function<void()>> what;
        for (const int i : order) what.push_back(all[static_cast<std::size_t>(i)]);
        runtimes on(m, 4);
        const auto stats = run_together(on.run(what), {.scheduler = "lira-adaptive",
                                                       .period = 20ms,
                                                       .counter_period = 20ms,
                                                       .lends = true,
                                                       .hysteresis = 1ms});
        const auto at = static_cast<std::size_t>(std::ranges::find(order, 0) - order.begin());
        EXPECT_LE(stats.seconds[at].front(), 0.120) << "as long as on a core alone, and the tasks of others";
        moves += stats.moves;
    } while (std::ranges::next_permutation(order).found);
    EXPECT_GT(moves, 0);
}

TEST(programs, that_are_moved_leave_the_cores_of_others_after_the_task_that_they_had_begun) {
    const machine_file m(2);
    std::vector<std::vector<char>> data(2, std::vector<char>(std::size_t{64} << 10));
    // As above, but `working` always has a next task for a core that it does not give back.
    const auto working = [] { in_parallel(150, 3 * ms); };
    const auto sleeping = [] { this_task::sleep_for(300ms); };
    int runs = 0;
    const auto loading = [&](std::size_t i) {
        return [&, i] {
            if (++runs > 1000) throw std::runtime_error("another program has waited for ever");
            cost(10 * ms);
            touch(data[i].data(), data[i].size(), access::read);
        };
    };
    const std::vector<std::function<void()>> all{working, sleeping, loading(0), loading(1)};
    std::vector<int> order{0, 1, 2, 3};
    int moves = 0;
    do {
        std::vector<std::function<void()>> what;
        for (const int i : order) what.push_back(all[static_cast<std::size_t>(i)]);
        runs = 0;
        runtimes on(m, 4);
        const auto stats = run_together(on.run(what), {.scheduler = "lira-adaptive",
                                                       .period = 20ms,
                                                       .counter_period = 20ms,
                                                       .lends = true,
                                                       .hysteresis = 1ms});
        moves += stats.moves;
        for (std::size_t i = 0; i < order.size(); ++i) {
            if (order[i] < 2) continue;
            double lost = 0;
            for (const double s : stats.seconds[i]) lost += s - 0.010;
            EXPECT_LE(lost, 0.010) << "of " << stats.seconds[i].size() << " runs";
        }
    } while (std::ranges::next_permutation(order).found);
    EXPECT_GT(moves, 0);
}

TEST(programs, have_all_cores_again_when_their_placement_is_refused) {
    const machine_file m(1);
    runtimes on(m, 1);
    runtime fixed({.policy = "adws", .engine = "model", .seed = 7, .costs = "declared", .beside = &on.at(0)});
    const auto work = [] { in_parallel(2, 100 * ms); };
    // The first program has its one core by then.
    EXPECT_THROW(run_together({{&on.at(0), work}, {&fixed, work}}, {.scheduler = "callisto"}), error);
    EXPECT_EQ(on.at(0).active_workers(), 2);
}

TEST(programs, give_the_same_bits_again) {
    const machine_file m(2);
    const auto once = [&](const std::string& scheduler, bool lends) {
        std::vector<char> data(std::size_t{1} << 20);
        runtimes on(m, 3);
        const auto sweep = [&] {
            in_parallel(5, 300'000);
            touch(data.data(), data.size(), access::readwrite);
        };
        const auto stats = run_together(
            on.run({sweep, [] { in_parallel(9, 500'000); }, [] { cost(2 * ms); }}),
            {.scheduler = scheduler,
             .repeats = 4,
             .period = 1ms,
             .counter_period = 2ms,
             .rates = scheduler == "lira-static" ? std::vector{3e9, 1e9, 0.0} : std::vector<double>{},
             .lends = lends,
             .hysteresis = 1ms});
        return std::pair(stats.seconds, stats.domains);
    };
    for (const std::string scheduler : {"os", "callisto", "lira-static", "lira-adaptive"})
        for (const bool lends : {false, true})
            EXPECT_EQ(once(scheduler, lends), once(scheduler, lends)) << scheduler << ' ' << lends;
}

TEST(programs, end_when_one_of_them_throws_and_the_machine_can_be_used_again) {
    const machine_file m(1);
    runtimes on(m, 2);
    const auto failing = on.run({[] { throw std::runtime_error("no"); }, [] { cost(ms); }});
    EXPECT_THROW(run_together(failing, {.repeats = 2}), std::runtime_error);
    const auto stats = run_together(on.run({[] { cost(ms); }, [] { cost(ms); }}));
    EXPECT_EQ(stats.seconds[0], std::vector{0.001});
    EXPECT_EQ(on.at(0).run([] { return 5; }), 5) << "alone, too";
}

TEST(programs, that_all_wait_for_ever_are_reported) {
    const auto wait_beside_each_other = [] {
        const machine_file m(1);
        runtimes on(m, 2);
        latch never(1);
        run_together(on.run({[&] { never.wait(); }, [&] { never.wait(); }}), {.scheduler = "lira-adaptive"});
    };
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    // Decisions on the placement come every 0.1 s of virtual time; they are no reason to go on.
    EXPECT_EXIT(wait_beside_each_other(), testing::ExitedWithCode(1), "deadlock at 0\\.[0-9]* s");
}

TEST(programs, wrong_uses_are_refused) {
    const machine_file m(1);
    const auto refused = [](const std::vector<together_program>& p, const together_options& o = {}) {
        try {
            run_together(p, o);
        } catch (const error& e) { return std::string(e.what()); }
        return std::string();
    };
    const auto nothing = [] {};
    runtimes two(m, 2), other(m, 1);
    runtime threads({.workers = 1, .engine = "threads"});
    EXPECT_NE(refused({}).find("no program"), std::string::npos);
    EXPECT_NE(refused({{&threads, nothing}}).find("modelled"), std::string::npos);
    EXPECT_NE(refused({{&two.at(0), nothing}, {&other.at(0), nothing}}).find("different machines"),
              std::string::npos);
    EXPECT_NE(refused({{&two.at(0), nothing}, {&two.at(0), nothing}}).find("one runtime"), std::string::npos);
    EXPECT_NE(refused({{&two.at(0), nothing}}).find("no program"), std::string::npos);
    const auto both = two.run({nothing, nothing});
    EXPECT_NE(refused(both).find("no virtual time"), std::string::npos);
    EXPECT_NE(refused(both, {.scheduler = "best"}).find("scheduler"), std::string::npos);
    EXPECT_NE(refused(both, {.repeats = 0}).find("repeats"), std::string::npos);
    EXPECT_NE(refused(both, {.period = 0ns}).find("period"), std::string::npos);
    EXPECT_NE(refused(both, {.rates = {1}}).find("rates"), std::string::npos);
    EXPECT_NE(refused(both, {.rates = {-1, 2}}).find("rate"), std::string::npos);
    EXPECT_NE(refused(both, {.scheduler = "lira-static", .domains = {0, 5}}).find("cache"),
              std::string::npos);
    EXPECT_NE(refused(both, {.scheduler = "lira-static"}).find("rates that were measured before"),
              std::string::npos);
    EXPECT_NE(refused(both, {.most_cores = -1}).find("number of cores"), std::string::npos);
    EXPECT_NE(refused(both, {.hysteresis = -1ns}).find("hysteresis"), std::string::npos);
    EXPECT_THROW(runtime({.machine = "opteron-8380-4x4", .beside = &two.at(0)}), error);
    EXPECT_THROW(runtime({.beside = &threads}), error);
    EXPECT_THROW(runtime({.policy = "snatch", .beside = &two.at(0)}), error) << "it exchanges cores";
    EXPECT_EQ(two.at(0).run([] { return 5; }), 5) << "the refused one has left nothing behind";

    // A policy whose workers are always all active goes with the kernel's scheduler only.
    runtimes fixed(m, 2, "adws");
    const auto work = fixed.run({[] { cost(ms); }, [] { cost(ms); }});
    EXPECT_EQ(refused(work), "");
    EXPECT_NE(refused(work, {.scheduler = "callisto"}).find("always active"), std::string::npos);
    EXPECT_NE(refused(work, {.scheduler = "lira-adaptive", .lends = true}).find("always active"),
              std::string::npos);
    EXPECT_EQ(refused(work, {.scheduler = "callisto", .lends = true}), "") << "a worker on each core";
    EXPECT_EQ(refused(work), "") << "nothing is left of the refused ones";
}

} // namespace
} // namespace weft
