// ctest: timeout=600 labels=slow,not_tsan
// ctest: asan_cases=-*hangs_without*:*for_ever_for*
//
// Programs that preemption is for: teams of threads inside of tasks, teams of more threads than workers are active, and
// work that arrives while others hold all workers. Each hangs without preemption, and gives the right answer with it.
// Outcomes and counts, never times.
#include "../../examples/multigrid/multigrid.hpp"
#include "../../examples/nested_teams/nested_teams.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>
#include <unistd.h>

#include "engine/preempted.hpp"
#include "engine/sanitized.hpp"

namespace weft {
namespace {

using test::preempting;

constexpr unsigned limit_s = 2;

/// In a process of its own, which a signal ends at the limit.
template <class Program>
void expect_hang(const Program& program) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            alarm(limit_s);
            program();
            std::_Exit(0);
        },
        testing::KilledBySignal(SIGALRM), "");
}

/// Each type, and the ways of ticking.
class with_preemption : public testing::TestWithParam<std::string> {
protected:
    preemption type() const { return GetParam().starts_with("klt") ? preemption::klt : preemption::yield; }
};
INSTANTIATE_TEST_SUITE_P(all, with_preemption,
                         testing::Values("klt", "yield", "klt:timer=chain,interval=200us",
                                         "yield:timer=one-to-all,interval=200us"));

// ---- one lock of malloc for all

constexpr int allocations = test::sanitized ? 100'000 : 1'000'000; // of a task

void allocate(int rounds, int n) {
    constexpr std::size_t beyond_caches = 2'000;
    for (int i = 0; i < rounds; ++i) {
        void* const block = std::malloc(beyond_caches + static_cast<std::size_t>((n + i) % 64) * 64);
        asm volatile("" : : "r"(block) : "memory");
        std::free(block);
    }
}

/// A program whose malloc is part of itself, or is not known for another reason: threads are stopped in it.
void forget_malloc() { engine::malloc_code::of_this_process().forget(); }

[[noreturn]] void allocate_in_many_tasks() {
    alarm(60);
    mallopt(M_ARENA_MAX, 1);
    forget_malloc();
    runtime rt(preempting("klt:interval=100us,timer=one-to-all", 3));
    test::run_all(rt, 24, [](int n) { allocate(allocations, n); });
    std::_Exit(0);
}

[[noreturn]] void allocate_and_set_a_first_timer() {
    alarm(60);
    mallopt(M_ARENA_MAX, 1);
    forget_malloc();
    for (int round = 0; round < (test::sanitized ? 10 : 40); ++round) {
        runtime rt(preempting("klt:interval=100us", 1));
        test::run_all(rt, 6, [](int n) {
            if (n % 2 == 0) return allocate(30'000, n);
            test::compute(1'000'000);
            this_task::sleep_for(std::chrono::microseconds(1));
        });
    }
    std::_Exit(0);
}

[[noreturn]] void allocate_and_build_graphs(const char* how) {
    alarm(60);
    mallopt(M_ARENA_MAX, 1);
    runtime rt(preempting(how, 1));
    test::run_all(rt, 6, [](int n) {
        if (n % 2 == 0) return allocate(allocations, n);
        for (int round = 0; round < 200; ++round) {
            graph dag;
            std::vector<int> data(500);
            for (int& d : data) dag.add([] {}, write(d));
            dag.run();
        }
    });
    std::_Exit(test::preempter_of(rt).yields() + test::preempter_of(rt).stops() > 0 ? 0 : 1);
}

/// A thread that is stopped in malloc keeps its lock. The other tasks wait for it, and so does the thread that makes more
/// threads, without which no further task is stopped (Y9).
TEST(preempted_scenarios, threads_stopped_in_malloc_get_their_turn) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(allocate_in_many_tasks(), testing::ExitedWithCode(0), "");
}

/// The first wait with a limit of time makes no thread, and so needs no malloc (Y5).
TEST(preempted_scenarios, a_first_timer_waits_for_no_stopped_thread) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(allocate_and_set_a_first_timer(), testing::ExitedWithCode(0), "");
}

/// A worker that adds a task to a graph allocates in the runtime, and waits there for a lock that no stopped thread may
/// hold (Y5). A task that yields in malloc would leave its kernel thread's blocks to the next task as they are.
TEST(preempted_scenarios, no_task_is_preempted_in_malloc) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const char* const how : {"klt:interval=100us", "yield:interval=100us"})
        EXPECT_EXIT(allocate_and_build_graphs(how), testing::ExitedWithCode(0), "") << how;
}

// ---- teams inside of tasks: the factorisation of S. Shiina, 2021, section 3.3.2

struct factorisation {
    static constexpr std::size_t n = 64, tile = 24;
    examples::tiled_matrix factor{n, tile};

    void run(runtime& rt, const examples::nested_team_settings& s) {
        rt.run([&] { examples::tiled_spd_fill(factor, test::seed); });
        rt.run([&] { examples::factor_by_nested_teams<examples::plain_kernels>(factor, s); });
    }
    void expect_right() const {
        WEFT_SEEDED;
        EXPECT_LT(examples::tiled_cholesky_residual(factor, test::seed), 1e-14);
        examples::tiled_matrix serial(n, tile);
        examples::tiled_spd_fill(serial, test::seed);
        examples::factor_serially<examples::plain_kernels>(serial);
        EXPECT_TRUE(examples::same_bits(factor, serial));
    }
};

/// One team of three on two workers: its first two members wait for the third one.
TEST(preempted_scenarios, a_team_that_is_larger_than_the_machine_hangs_without) {
    expect_hang([] {
        runtime rt(preempting("off", 2));
        factorisation().run(rt, {.inner = 3, .type = preemption::off});
    });
}

TEST_P(with_preemption, nested_teams_factor_a_matrix) {
    std::size_t inner = 3;
    for (const std::string policy : {"steal", "steal-parent-first", "share", "locality"}) {
        runtime rt(preempting(GetParam(), 2, policy));
        factorisation f;
        f.run(rt, {.inner = inner++, .type = type()});
        f.expect_right();
    }
}

/// The same without preemption, if the members let others run: what the thesis calls the best case of the others.
TEST(preempted_scenarios, teams_that_let_others_run_need_none) {
    for (const auto how : {examples::meeting::yield, examples::meeting::weft}) {
        runtime rt(preempting("off", 2));
        factorisation f;
        f.run(rt, {.inner = 8, .how = how, .type = preemption::off});
        f.expect_right();
    }
}

// ---- a team of fixed size on fewer workers: section 3.3.3

constexpr std::size_t log_side = 1, boxes_a_side = 2, cycles = 1; // eight boxes, a thread for each

struct packed {
    examples::multigrid grid{log_side, boxes_a_side};
    std::vector<double> residuals = std::vector<double>(cycles);

    void run(runtime& rt, preemption type) {
        rt.run([&] {
            examples::run_team(grid.boxes(), examples::meeting::spin, type,
                               [&](const examples::team_member& me) { grid.cycles(me, cycles, residuals); });
        });
    }
    void expect_right() const {
        packed serial;
        examples::team_barrier alone(1, examples::meeting::spin);
        serial.grid.cycles({0, 1, alone}, cycles, serial.residuals);
        EXPECT_EQ(residuals, serial.residuals);
        EXPECT_TRUE(grid.has_same_bits(serial.grid));
    }
};

TEST(preempted_scenarios, a_team_on_fewer_workers_hangs_without) {
    expect_hang([] {
        runtime rt(preempting("off", 3));
        packed().run(rt, preemption::off);
    });
}

TEST_P(with_preemption, a_team_of_eight_runs_on_any_number_of_workers) {
    for (const int workers : {1, 3, 7}) {
        runtime rt(preempting(GetParam(), workers));
        packed p;
        p.run(rt, type());
        p.expect_right();
    }
}

/// The workers become fewer, and more again, while the team runs: what they were about goes on at the others.
TEST_P(with_preemption, a_team_of_eight_survives_the_loss_of_workers) {
    constexpr int workers = 4;
    runtime rt(preempting(GetParam(), workers));
    auto& e = test::engine_of(rt);
    ASSERT_TRUE(e.need.resizable);
    std::atomic<bool> done{false};
    std::thread resizes([&] {
        const int active[] = {3, 1, 2, 4};
        for (std::size_t i = 0; !done; ++i) {
            e.set_active(active[i % std::size(active)]);
            std::this_thread::sleep_for(std::chrono::milliseconds(3));
        }
        e.set_active(workers);
    });
    for (int round = 0; round < test::rounds(1); ++round) {
        packed p;
        p.run(rt, type());
        p.expect_right();
    }
    done = true;
    resizes.join();
}

// ---- work that comes while others hold all workers: section 3.3.4

/// An analysis with a task for each worker, which end when the simulation has been done. The simulation comes, from another
/// thread, when all of them have begun.
void analyse_until_simulated(runtime& rt, preemption type) {
    const int workers = rt.workers();
    std::atomic<int> analysing{0}, simulated{0};
    std::atomic<bool> is_simulated{false};
    std::thread simulation([&] {
        while (analysing < workers) std::this_thread::yield();
        rt.run([&] {
            task_group parts;
            for (int i = 0; i < workers; ++i)
                parts.run([&] { ++simulated; }, {.name = "simulation", .priority = 1});
            parts.wait();
        });
        is_simulated = true;
    });
    rt.run([&] {
        task_group analysis;
        for (int i = 0; i < workers; ++i)
            analysis.run(
                [&] {
                    ++analysing;
                    while (!is_simulated) {}
                },
                {.name = "analysis", .priority = 0, .preempt = type});
        analysis.wait();
    });
    simulation.join();
    EXPECT_EQ(simulated, workers);
    EXPECT_EQ(analysing, workers);
}

TEST(preempted_scenarios, a_simulation_waits_for_ever_for_an_analysis_without) {
    expect_hang([] {
        runtime rt(preempting("off", 2));
        analyse_until_simulated(rt, preemption::off);
    });
}

TEST_P(with_preemption, a_simulation_displaces_an_analysis) {
    for (const std::string policy :
         {"steal", "steal:zone=reported", "steal-parent-first", "share", "locality"})
        for (const int workers : {1, 2, 4}) {
            // The tasks without a type of their own are not preempted.
            const std::string ticks = GetParam().substr(std::min(GetParam().find(':'), GetParam().size()));
            runtime rt(preempting("off" + ticks, workers, policy));
            analyse_until_simulated(rt, type());
            const auto& p = test::preempter_of(rt);
            EXPECT_GT(p.yields() + p.stops(), 0U) << policy;
        }
}

} // namespace
} // namespace weft
