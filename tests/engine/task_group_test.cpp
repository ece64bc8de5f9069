// ctest: labels=slow
//
// task_group: children are run once and waited for, exceptions reach one wait, cancelling drops what has not
// begun, and closures of any shape are moved in and destroyed once.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/run/cancellation.hpp"
#include "engine/support.hpp"

namespace weft {
namespace {

using test::await;
using test::failure;
using test::failure_of;
using test::lives;
using test::tracked;

class group_everywhere : public testing::TestWithParam<test::setup> {
protected:
    bool queues_children() const {
        const std::string& policy = GetParam().policy;
        for (const char* const one :
             {"share", "socket", "mts", "hws", "random-push", "chs", "cls", "crs", "tatl", "numalb",
              "offline", "packing", "insitu", "camp", "bias", "ljfcf", "speed", "aats", "optimal"})
            if (policy.starts_with(one)) return true;
        return policy.find("parent-first") != std::string::npos;
    }

    runtime rt_{GetParam().options()};
};

INSTANTIATE_TEST_SUITE_P(all, group_everywhere,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite,
                                                                test::worker_counts)),
                         test::setup_name{});

// ---- run and wait

std::atomic<int> plain_calls{0};
void plain_function() { ++plain_calls; }
int plain_function_with_result() { return ++plain_calls; }

TEST_P(group_everywhere, takes_plain_functions) {
    plain_calls = 0;
    rt_.run([&] {
        task_group g;
        for (int i = 0; i < 100; ++i) {
            g.run(plain_function);
            g.run(plain_function_with_result, hints{.work = 2});
            g.run(&plain_function);
        }
        g.wait();
    });
    EXPECT_EQ(plain_calls.load(), 300);
}

TEST_P(group_everywhere, runs_each_child_once) {
    std::vector<std::atomic<int>> ran(1000);
    rt_.run([&] {
        task_group g;
        for (auto& r : ran) g.run([&r] { ++r; });
        g.wait();
        for (auto& r : ran) EXPECT_EQ(r.load(), 1);
    });
}

TEST_P(group_everywhere, what_children_wrote_is_seen_after_the_wait) {
    std::vector<int> plain(500, 0);
    const int sum = rt_.run([&] {
        task_group g;
        for (auto& p : plain) g.run([&p] { p = 1; });
        g.wait();
        return std::accumulate(plain.begin(), plain.end(), 0);
    });
    EXPECT_EQ(sum, 500);
}

TEST_P(group_everywhere, may_be_waited_for_again_and_used_again) {
    int ran = 0;
    rt_.run([&] {
        task_group g;
        g.wait();
        g.wait();
        for (int round = 0; round < 50; ++round) {
            g.run([&] { ++ran; });
            g.wait();
            EXPECT_EQ(ran, round + 1);
            g.wait();
        }
    });
}

TEST_P(group_everywhere, takes_hints) {
    std::atomic<int> ran{0};
    rt_.run([&] {
        task_group g(hints{.work = 10, .bytes = 1000, .name = "group"});
        for (int i = 0; i < 10; ++i)
            g.run([&] { ++ran; }, hints{.work = 1, .bytes = 100, .name = "child", .priority = i});
        g.wait();
    });
    EXPECT_EQ(ran.load(), 10);
}

TEST_P(group_everywhere, groups_nest) {
    struct tree {
        static void grow(int depth, std::atomic<int>& leaves) {
            if (depth == 0) {
                ++leaves;
                return;
            }
            task_group g;
            for (int i = 0; i < 3; ++i) g.run([=, &leaves] { grow(depth - 1, leaves); });
            g.wait();
        }
    };
    std::atomic<int> leaves{0};
    rt_.run([&] { tree::grow(6, leaves); });
    EXPECT_EQ(leaves.load(), 729);
}

TEST_P(group_everywhere, several_groups_of_one_task_are_independent) {
    rt_.run([] {
        std::atomic<int> a{0}, b{0};
        task_group g, h;
        for (int i = 0; i < 20; ++i) {
            g.run([&] { ++a; });
            h.run([&] { ++b; });
        }
        h.wait();
        EXPECT_EQ(b.load(), 20);
        g.run([&] { ++a; });
        g.wait();
        EXPECT_EQ(a.load(), 21);
    });
}

TEST_P(group_everywhere, children_may_add_children) {
    struct tree {
        static void grow(task_group& g, int depth, std::atomic<int>& nodes) {
            ++nodes;
            if (depth == 0) return;
            for (int i = 0; i < 2; ++i) g.run([=, &g, &nodes] { grow(g, depth - 1, nodes); });
        }
    };
    std::atomic<int> nodes{0};
    rt_.run([&] {
        task_group g;
        g.run([&] { tree::grow(g, 8, nodes); });
        g.wait();
        EXPECT_EQ(nodes.load(), 511);
    });
}

TEST_P(group_everywhere, tasks_may_share_a_group) {
    std::atomic<int> ran{0};
    rt_.run([&] {
        task_group shared;
        {
            task_group adders;
            for (int i = 0; i < 8; ++i)
                adders.run([&] {
                    for (int k = 0; k < 25; ++k) shared.run([&] { ++ran; });
                });
            adders.wait();
        }
        shared.wait();
        EXPECT_EQ(ran.load(), 200);
    });
}

TEST_P(group_everywhere, another_task_may_wait) {
    std::atomic<int> ran{0};
    rt_.run([&] {
        task_group g;
        for (int i = 0; i < 10; ++i) g.run([&] { ++ran; });
        task_group waiter;
        waiter.run([&] {
            g.wait();
            EXPECT_EQ(ran.load(), 10);
        });
        waiter.wait();
    });
}

TEST_P(group_everywhere, joins_and_loops_inside_children) {
    std::atomic<long> sum{0};
    rt_.run([&] {
        task_group g;
        for (int i = 0; i < 10; ++i)
            g.run([&] {
                const auto [a, b] = join([] { return 1; }, [] { return 2; });
                parallel_for(0, 10, [&](int k) { sum += k; });
                sum += a + b;
            });
        parallel_for(0, 10, [&](int k) { sum += k; });
        g.wait();
    });
    EXPECT_EQ(sum.load(), 10 * 48 + 45);
}

TEST_P(group_everywhere, the_destructor_waits) {
    for (int repeat = 0; repeat < 20; ++repeat) {
        int done = 0;
        rt_.run([&] {
            { // no task waits
                task_group g;
                g.run([&] {
                    task_group inner;
                    inner.run([&] {
                        for (int i = 0; i < 5; ++i) std::this_thread::yield();
                        ++done;
                    });
                });
            }
            EXPECT_EQ(done, 1);
        });
    }
}

TEST_P(group_everywhere, a_child_may_be_the_last_to_hold_the_data_of_the_group) {
    std::atomic<int> sum{0};
    rt_.run([&] {
        auto data = std::make_shared<std::array<std::atomic<int>, 4>>();
        task_group g;
        for (int i = 0; i < 4; ++i)
            g.run([data, i, &sum] {
                (*data)[static_cast<std::size_t>(i)] = 1;
                sum += (*data)[static_cast<std::size_t>(i)];
            });
        data.reset();
        g.wait();
    });
    EXPECT_EQ(sum.load(), 4);
}

// ---- exceptions

TEST_P(group_everywhere, an_exception_reaches_exactly_one_wait) {
    std::atomic<int> others{0};
    rt_.run([&] {
        task_group g;
        for (int i = 0; i < 10; ++i)
            g.run([&, i] {
                if (i == 4) throw failure{4};
                ++others;
            });
        EXPECT_EQ(failure_of([&] { g.wait(); }), 4);
        EXPECT_EQ(others.load(), 9); // the others ran to their end
        EXPECT_EQ(failure_of([&] { g.wait(); }), -1);
        g.run([&] { ++others; });
        EXPECT_EQ(failure_of([&] { g.wait(); }), -1);
        EXPECT_EQ(others.load(), 10);
        g.run([] { throw failure{5}; });
        EXPECT_EQ(failure_of([&] { g.wait(); }), 5);
    });
    EXPECT_EQ(rt_.stats().suppressed_exceptions, 0u);
}

TEST_P(group_everywhere, one_of_several_exceptions_wins_and_the_others_are_counted) {
    rt_.run([&] {
        task_group g;
        for (int i = 0; i < 10; ++i) g.run([i] { throw failure{i}; });
        const int thrown = failure_of([&] { g.wait(); });
        EXPECT_GE(thrown, 0);
        EXPECT_LT(thrown, 10);
        if (GetParam().workers == 1 && !queues_children()) { EXPECT_EQ(thrown, 0); }
        EXPECT_EQ(failure_of([&] { g.wait(); }), -1);
    });
    EXPECT_EQ(rt_.stats().suppressed_exceptions, 9u);
}

TEST_P(group_everywhere, exceptions_leave_nested_groups_one_by_one) {
    struct nest {
        static void descend(int depth) {
            if (depth == 0) throw failure{42};
            task_group g;
            g.run([=] { descend(depth - 1); });
            g.run([] {});
            g.wait();
        }
    };
    EXPECT_EQ(42, failure_of([&] { rt_.run([] { nest::descend(20); }); }));
}

TEST_P(group_everywhere, unwinding_waits_and_the_first_exception_wins) {
    for (int repeat = 0; repeat < 10; ++repeat) {
        std::atomic<int> ran{0};
        const int thrown = failure_of([&] {
            rt_.run([&] {
                task_group g;
                for (int i = 0; i < 5; ++i) g.run([&] { ++ran; });
                throw failure{1};
            });
        });
        ASSERT_EQ(thrown, 1);
        ASSERT_EQ(ran.load(), 5);
    }
}

TEST_P(group_everywhere, an_exception_lost_to_unwinding_is_counted) {
    const int thrown = failure_of([&] {
        rt_.run([&] {
            task_group g;
            g.run([] { throw failure{2}; });
            throw failure{1};
        });
    });
    EXPECT_EQ(thrown, 1);
    EXPECT_EQ(rt_.stats().suppressed_exceptions, 1u);
}

TEST_P(group_everywhere, a_destructor_that_waits_while_unwinding_keeps_the_exception) {
    struct waits_at_the_end {
        int& uncaught_before;
        int& uncaught_after;
        std::atomic<int>& ran;
        ~waits_at_the_end() {
            uncaught_before = std::uncaught_exceptions();
            {
                task_group g;
                for (int i = 0; i < 8; ++i)
                    g.run([&] {
                        try {
                            if (std::uncaught_exceptions() != 0) ran += 1000;
                            throw failure{3};
                        } catch (const failure&) { ++ran; }
                    });
                g.wait();
            }
            uncaught_after = std::uncaught_exceptions();
        }
    };
    for (int repeat = 0; repeat < 20; ++repeat) {
        int before = -1, after = -1;
        std::atomic<int> ran{0};
        const int thrown = rt_.run([&] {
            return failure_of([&] {
                const waits_at_the_end w{before, after, ran};
                throw failure{1};
            });
        });
        ASSERT_EQ(thrown, 1);
        ASSERT_EQ(before, 1);
        ASSERT_EQ(after, 1);
        // Children that run on top of the unwinding code or elsewhere have exceptions of their own.
        ASSERT_EQ(ran.load(), 8);
    }
}

using group_death = testing::Test;

TEST(group_death, an_exception_that_no_wait_took_ends_the_program) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const auto& policy : {"steal", "steal-parent-first"}) {
        EXPECT_DEATH(
            {
                runtime_options o;
                o.policy = policy;
                o.workers = 2;
                runtime rt(o);
                rt.run([] {
                    task_group g;
                    g.run([] { throw std::runtime_error("nobody wants me"); });
                });
            },
            "a task group was destroyed with an exception that no wait\\(\\) took(.|\n)*nobody wants me");
    }
}

// ---- cancelling

TEST_P(group_everywhere, children_added_after_cancel_are_dropped) {
    lives closures;
    std::atomic<int> ran{0};
    rt_.run([&] {
        const tracked mine(closures);
        task_group g;
        EXPECT_FALSE(g.is_cancelled());
        g.cancel();
        EXPECT_TRUE(g.is_cancelled());
        for (int i = 0; i < 20; ++i) g.run([&ran, mine] { ++ran; });
        g.wait();
        EXPECT_EQ(ran.load(), 0);
        EXPECT_EQ(closures.alive(), 1);
        EXPECT_FALSE(g.is_cancelled()); // wait() ends the cancellation
        g.run([&ran, mine] { ++ran; });
        g.wait();
        EXPECT_EQ(ran.load(), 1);
    });
    test::expect_all_dead(closures);
}

TEST_P(group_everywhere, cancelled_children_either_run_or_are_dropped) {
    for (int repeat = 0; repeat < 20; ++repeat) {
        lives closures;
        std::atomic<int> ran{0};
        rt_.run([&] {
            const tracked mine(closures);
            task_group g;
            for (int i = 0; i < 40; ++i) {
                g.run([&ran, mine] { ++ran; });
                if (i == 20) g.cancel();
            }
            g.wait();
            EXPECT_LE(ran.load(), 21);
            EXPECT_EQ(closures.alive(), 1);
        });
        test::expect_all_dead(closures);
    }
}

TEST_P(group_everywhere, a_child_cancels_its_siblings) {
    std::atomic<int> ran{0};
    rt_.run([&] {
        task_group g;
        for (int i = 0; i < 50; ++i)
            g.run([&] {
                if (!g.is_cancelled()) ++ran;
                g.cancel();
            });
        g.wait();
    });
    EXPECT_GE(ran.load(), 1);
    EXPECT_LE(ran.load(), GetParam().workers);
}

TEST_P(group_everywhere, a_cancelled_group_may_be_destroyed_or_have_failed) {
    rt_.run([] {
        {
            task_group g;
            g.run([] {});
            g.cancel();
            g.run([] {});
        }
        task_group g;
        g.run([&] {
            g.cancel();
            throw failure{6};
        });
        EXPECT_EQ(failure_of([&] { g.wait(); }), 6);
        EXPECT_FALSE(g.is_cancelled());
    });
}

// What is cancelled reaches the groups within: their children are dropped too, at any depth, and only theirs.
TEST_P(group_everywhere, cancelling_reaches_nested_groups) {
    std::atomic<int> ran{0}, beside{0};
    rt_.run([&] {
        task_group outer, other;
        latch cancelled(1);
        for (int i = 0; i < 4; ++i)
            outer.run([&] {
                task_group middle;
                middle.run([&] {
                    cancelled.wait();
                    EXPECT_TRUE(this_task::is_cancelled());
                    EXPECT_TRUE(middle.is_cancelled());
                    task_group inner;
                    for (int k = 0; k < 5; ++k) inner.run([&] { ++ran; });
                    join([&] { inner.run([&] { ++ran; }); }, [&] { EXPECT_TRUE(this_task::is_cancelled()); });
                    inner.wait();
                    EXPECT_TRUE(inner.is_cancelled()); // the outer one still is
                    const auto apart = async([] { return this_task::is_cancelled(); });
                });
                middle.wait();
            });
        outer.cancel();
        cancelled.count_down();
        other.run([&] {
            EXPECT_FALSE(this_task::is_cancelled());
            task_group within;
            within.run([&] { ++beside; });
            within.wait();
        });
        outer.wait();
        other.wait();
        EXPECT_FALSE(this_task::is_cancelled());
        task_group again;
        again.run([&] { ++beside; });
        again.wait();
    });
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(beside, 2);
    EXPECT_EQ(engine::cancelled_groups.load(), 0) << "every spawn of the process looks around its groups";
}

TEST(group_cancel, queued_children_are_dropped_unrun) {
    for (const auto& policy : {"steal-parent-first", "steal-parent-first:order=fifo", "share"}) {
        SCOPED_TRACE(policy);
        runtime rt(test::setup{policy, 1}.options());
        lives closures;
        int ran = 0;
        rt.run([&] {
            const tracked mine(closures);
            task_group g;
            for (int i = 0; i < 30; ++i) g.run([&ran, mine] { ++ran; });
            EXPECT_EQ(closures.alive(), 31);
            g.cancel();
            g.wait();
            EXPECT_EQ(closures.alive(), 1);
        });
        EXPECT_EQ(ran, 0);
        test::expect_all_dead(closures);
    }
}

// ---- closures

TEST_P(group_everywhere, big_closures) {
    struct big {
        std::array<std::uint32_t, 2560> words;
    };
    std::atomic<int> right{0};
    rt_.run([&] {
        task_group g;
        for (std::uint32_t i = 0; i < 50; ++i) {
            big b;
            b.words.fill(i);
            g.run([b, i, &right] {
                if (std::all_of(b.words.begin(), b.words.end(), [=](std::uint32_t w) { return w == i; }))
                    ++right;
            });
        }
        g.wait();
    });
    EXPECT_EQ(right.load(), 50);
}

TEST_P(group_everywhere, over_aligned_closures) {
    struct alignas(64) line {
        std::uint64_t word;
    };
    struct alignas(256) lines {
        std::uint64_t word;
    };
    std::atomic<int> right{0};
    rt_.run([&] {
        task_group g;
        for (std::uint64_t i = 0; i < 50; ++i) {
            g.run([l = line{i}, i, &right] {
                if (reinterpret_cast<std::uintptr_t>(&l) % 64 == 0 && l.word == i) ++right;
            });
            g.run([l = lines{i}, i, &right] {
                if (reinterpret_cast<std::uintptr_t>(&l) % 256 == 0 && l.word == i) ++right;
            });
        }
        g.wait();
    });
    EXPECT_EQ(right.load(), 100);
}

TEST_P(group_everywhere, closures_are_moved_or_copied_as_given_and_destroyed_once) {
    lives closures;
    std::atomic<int> sum{0};
    rt_.run([&] {
        const tracked mine(closures, 3);
        task_group g;
        auto lvalue = [mine, &sum] { sum += mine.value; };
        for (int i = 0; i < 10; ++i) g.run(lvalue);
        const auto constant = lvalue;
        g.run(constant);
        g.run(std::move(lvalue));
        g.run([p = std::make_unique<tracked>(mine), &sum] { sum += p->value; });
        g.wait();
        EXPECT_EQ(closures.alive(), 3); // mine, lvalue, constant
    });
    EXPECT_EQ(sum.load(), 3 * 13);
    test::expect_all_dead(closures);
}

TEST_P(group_everywhere, a_closure_that_throws_is_destroyed_once) {
    lives closures;
    rt_.run([&] {
        task_group g;
        for (int i = 0; i < 10; ++i) g.run([t = tracked(closures)] { throw failure{t.value}; });
        EXPECT_EQ(failure_of([&] { g.wait(); }), 0);
    });
    test::expect_all_dead(closures);
}

struct refuses_to_move {
    lives* of;
    std::atomic<int>* ran;
    bool willing;

    refuses_to_move(lives& l, std::atomic<int>& r, bool w) : of(&l), ran(&r), willing(w) { ++of->born; }
    refuses_to_move(const refuses_to_move& other) : of(other.of), ran(other.ran), willing(other.willing) {
        if (!willing) throw failure{11};
        ++of->born;
    }
    refuses_to_move(refuses_to_move&& other) noexcept(false)
        : of(other.of)
        , ran(other.ran)
        , willing(other.willing) {
        if (!willing) throw failure{12};
        ++of->born;
    }
    refuses_to_move& operator=(const refuses_to_move&) = delete;
    ~refuses_to_move() { ++of->dead; }
    void operator()() const { ++*ran; }
};

TEST_P(group_everywhere, run_throws_what_moving_the_closure_throws) {
    lives closures;
    std::atomic<int> ran{0};
    rt_.run([&] {
        task_group g;
        for (int i = 0; i < 10; ++i) {
            g.run(refuses_to_move(closures, ran, true));
            EXPECT_EQ(12, failure_of([&] { g.run(refuses_to_move(closures, ran, false)); }));
            const refuses_to_move lvalue(closures, ran, false);
            EXPECT_EQ(11, failure_of([&] { g.run(lvalue); }));
        }
        EXPECT_EQ(failure_of([&] { g.wait(); }), -1); // none of it is the group's
        EXPECT_EQ(ran.load(), 10);
        EXPECT_EQ(failure_of([&] { g.run(refuses_to_move(closures, ran, false)); }), 12);
        g.run(refuses_to_move(closures, ran, true));
    });
    EXPECT_EQ(ran.load(), 11);
    test::expect_all_dead(closures);
    EXPECT_EQ(rt_.stats().suppressed_exceptions, 0u);
}

// ---- a thief resumes the parent: child and parent wait for each other

class group_stolen : public testing::TestWithParam<test::setup> {
protected:
    runtime rt_{GetParam().options()};
};

INSTANTIATE_TEST_SUITE_P(all, group_stolen,
                         testing::ValuesIn(test::setups_in_turn(test::parallel_policies, {2, 3, 4})),
                         test::setup_name{});

TEST_P(group_stolen, the_parent_goes_on_while_the_child_runs) {
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::atomic<bool> parent{false}, child{false};
        bool met_child = false, met_parent = false;
        rt_.run([&] {
            task_group g;
            g.run([&] {
                child.store(true, std::memory_order_release);
                met_parent = await(parent);
            });
            parent.store(true, std::memory_order_release);
            met_child = await(child);
            g.wait();
        });
        ASSERT_TRUE(met_child && met_parent);
    }
}

TEST_P(group_stolen, a_running_child_sees_the_cancellation) {
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::atomic<bool> started{false};
        bool saw = false;
        rt_.run([&] {
            task_group g;
            g.run([&] {
                started.store(true, std::memory_order_release);
                saw = await([&] { return g.is_cancelled(); });
            });
            EXPECT_TRUE(await(started));
            g.cancel();
            g.wait();
        });
        ASSERT_TRUE(saw);
    }
}

TEST_P(group_stolen, an_exception_of_a_child_elsewhere_reaches_the_wait) {
    lives closures;
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::atomic<bool> parent{false};
        const int thrown = rt_.run([&] {
            task_group g;
            g.run([&, held = tracked(closures)] {
                EXPECT_TRUE(await(parent));
                throw failure{8};
            });
            parent.store(true, std::memory_order_release);
            return failure_of([&] { g.wait(); });
        });
        ASSERT_EQ(thrown, 8);
    }
    test::expect_all_dead(closures);
}

TEST_P(group_stolen, a_wait_inside_a_catch_block_keeps_its_exception) {
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::atomic<bool> parent{false};
        const std::string text = rt_.run([&]() -> std::string {
            try {
                throw std::runtime_error("mine");
            } catch (const std::exception&) {
                const auto before = std::current_exception();
                task_group g;
                g.run([&] {
                    EXPECT_EQ(std::current_exception(), nullptr);
                    EXPECT_TRUE(await(parent));
                    try {
                        throw failure{1};
                    } catch (const failure&) {
                        for (int i = 0; i < 5; ++i) std::this_thread::yield();
                    }
                });
                parent.store(true, std::memory_order_release);
                g.wait();
                EXPECT_EQ(std::uncaught_exceptions(), 0);
                EXPECT_EQ(std::current_exception(), before);
                try {
                    throw;
                } catch (const std::exception& e) { return e.what(); }
            }
        });
        ASSERT_EQ(text, "mine");
    }
}

class group_waiters : public testing::TestWithParam<test::setup> {
protected:
    /// Two tasks wait for a group of `children`, which end when one of the waits has. Returns how many of the
    /// waits were refused; -1 if one came back although children were running.
    int refused_waits(int children) {
        std::atomic<int> refused{0}, started{0}, done{0};
        std::atomic<bool> early{false}, released{false};
        rt_.run([&] {
            task_group g;
            for (int i = 0; i < children; ++i)
                g.run([&] {
                    ++started;
                    EXPECT_TRUE(await(released));
                    ++done;
                });
            EXPECT_TRUE(await([&] { return started.load() == children; }));
            const auto wait = [&] {
                try {
                    g.wait();
                    if (done.load() != children) early = true;
                } catch (const error& e) {
                    EXPECT_NE(std::string(e.what()).find("one task at a time"), std::string::npos);
                    ++refused;
                }
                released.store(true, std::memory_order_release);
            };
            join(wait, wait);
        });
        return early ? -1 : refused.load();
    }

    runtime rt_{GetParam().options()};
};

INSTANTIATE_TEST_SUITE_P(
    all, group_waiters,
    testing::ValuesIn(test::setups({"steal", "steal:zone=reported", "steal-parent-first", "share"}, {6})),
    test::setup_name{});

TEST_P(group_waiters, a_second_wait_is_refused) {
    for (int repeat = 0; repeat < 10; ++repeat) EXPECT_EQ(refused_waits(3), 1);
}

TEST_P(group_waiters, a_second_wait_is_refused_for_the_last_child_too) {
    for (int repeat = 0; repeat < 10; ++repeat) EXPECT_EQ(refused_waits(1), 1);
}

// ---- threads that are no workers

class group_outside : public testing::Test {
protected:
    static void SetUpTestSuite() { setenv("WEFT_WORKERS", "2", 0); }
};

TEST_F(group_outside, children_run_in_the_default_runtime) {
    std::vector<std::atomic<int>> ran(200);
    task_group g;
    for (auto& r : ran) g.run([&r] { ++r; });
    g.wait();
    for (auto& r : ran) EXPECT_EQ(r.load(), 1);
    g.wait();
    std::atomic<int> more{0};
    g.run([&] {
        task_group inner;
        for (int i = 0; i < 10; ++i) inner.run([&] { ++more; });
        inner.wait();
    });
    g.wait();
    EXPECT_EQ(more.load(), 10);
}

TEST_F(group_outside, exceptions_cancelling_and_closures) {
    lives closures;
    {
        const tracked mine(closures);
        task_group g;
        for (int i = 0; i < 10; ++i) g.run([mine] { throw failure{9}; });
        EXPECT_EQ(failure_of([&] { g.wait(); }), 9);
        EXPECT_EQ(failure_of([&] { g.wait(); }), -1);
        g.cancel();
        std::atomic<int> ran{0};
        for (int i = 0; i < 10; ++i) g.run([mine, &ran] { ++ran; });
        g.wait();
        EXPECT_EQ(ran.load(), 0);
        EXPECT_EQ(closures.alive(), 1);
        EXPECT_EQ(12, failure_of([&] { g.run(refuses_to_move(closures, ran, false)); }));
        g.run(refuses_to_move(closures, ran, true));
    }
    test::expect_all_dead(closures);
}

TEST_F(group_outside, children_may_add_children) {
    std::atomic<int> ran{0};
    task_group g;
    for (int i = 0; i < 8; ++i)
        g.run([&] {
            for (int k = 0; k < 10; ++k) g.run([&] { ++ran; });
        });
    g.wait();
    EXPECT_EQ(ran.load(), 80);
}

TEST_F(group_outside, several_threads_at_once) {
    std::atomic<int> sum{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t)
        threads.emplace_back([&] {
            for (int round = 0; round < 20; ++round) {
                task_group g;
                for (int i = 0; i < 10; ++i) g.run([&] { ++sum; });
                if (round % 2) g.wait();
            }
        });
    for (auto& t : threads) t.join();
    EXPECT_EQ(sum.load(), 6 * 20 * 10);
}

TEST_F(group_outside, threads_may_share_a_group) {
    std::atomic<int> sum{0};
    task_group g;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) g.run([&] { ++sum; });
        });
    for (auto& t : threads) t.join();
    g.wait();
    EXPECT_EQ(sum.load(), 200);
}

} // namespace
} // namespace weft
