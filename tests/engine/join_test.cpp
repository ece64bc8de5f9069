// ctest: labels=slow
//
// join and parallel_invoke: what they return, in which form, and what they throw. No closure and no result is
// lost or destroyed twice, whichever worker ran it.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <variant>
#include <vector>

#include "engine/support.hpp"

namespace weft {
namespace {

using test::await;
using test::failure;
using test::failure_of;
using test::lives;
using test::tracked;

using test::fib;

long fib(context ctx, int n) {
    if (n < 2) return n;
    const auto [a, b] =
        join(ctx, [=](context c) { return fib(c, n - 1); }, [=](context c) { return fib(c, n - 2); });
    return a + b;
}

// ---- what a join returns

using nothing = void (&)();
using number = int (&)();
using reference = const std::string& (&)();
static_assert(std::is_void_v<join_result<nothing, nothing>>);
static_assert(std::is_same_v<join_result<nothing, number>, std::pair<std::monostate, int>>);
static_assert(std::is_same_v<join_result<number, nothing>, std::pair<int, std::monostate>>);
static_assert(std::is_same_v<join_result<number, reference>, std::pair<int, std::string>>);

class join_everywhere : public testing::TestWithParam<test::setup> {
protected:
    runtime rt_{GetParam().options()};
};

INSTANTIATE_TEST_SUITE_P(all, join_everywhere,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite,
                                                                test::worker_counts)),
                         test::setup_name{});

TEST_P(join_everywhere, returns_a_pair) {
    const auto [a, b] = rt_.run([] { return join([] { return 1; }, [] { return std::string("two"); }); });
    EXPECT_EQ(a, 1);
    EXPECT_EQ(b, "two");
}

TEST_P(join_everywhere, returns_monostate_for_nothing) {
    int ran = 0;
    const auto [a, b] = rt_.run([&] { return join([&] { ++ran; }, [] { return 2; }); });
    static_assert(std::is_same_v<decltype(a), const std::monostate>);
    EXPECT_EQ(b, 2);
    EXPECT_EQ(ran, 1);
    const auto [c, d] = rt_.run([&] { return join([] { return 3; }, [&] { ++ran; }); });
    static_assert(std::is_same_v<decltype(d), const std::monostate>);
    EXPECT_EQ(c, 3);
    EXPECT_EQ(ran, 2);
}

TEST_P(join_everywhere, returns_nothing_for_two_voids) {
    int f = 0, g = 0;
    rt_.run([&] { join([&] { f = 1; }, [&] { g = 2; }); });
    EXPECT_EQ(f, 1);
    EXPECT_EQ(g, 2);
}

TEST_P(join_everywhere, returns_values_for_references) {
    std::string text = "before";
    auto result = rt_.run([&] {
        return join([&]() -> std::string& { return text; }, [&]() -> const std::string& { return text; });
    });
    static_assert(std::is_same_v<decltype(result), std::pair<std::string, std::string>>);
    text = "after";
    EXPECT_EQ(result.first, "before");
    EXPECT_EQ(result.second, "before");
}

TEST_P(join_everywhere, returns_results_that_can_only_be_moved) {
    auto [a, b] = rt_.run([] {
        return join([] { return std::make_unique<int>(1); }, [] { return std::make_unique<int>(2); });
    });
    EXPECT_EQ(*a, 1);
    EXPECT_EQ(*b, 2);
}

TEST_P(join_everywhere, returns_results_without_default_value) {
    lives results;
    {
        const auto [a, b] = rt_.run(
            [&] { return join([&] { return tracked(results, 1); }, [&] { return tracked(results, 2); }); });
        EXPECT_EQ(a.value, 1);
        EXPECT_EQ(b.value, 2);
        EXPECT_EQ(results.alive(), 2);
    }
    test::expect_all_dead(results);
}

TEST_P(join_everywhere, returns_over_aligned_results) {
    struct alignas(64) wide {
        std::array<std::uint64_t, 16> words;
    };
    const auto filled = [](std::uint64_t with) {
        wide w;
        w.words.fill(with);
        return w;
    };
    const auto [a, b] = rt_.run([&] { return join([&] { return filled(1); }, [&] { return filled(2); }); });
    for (const auto word : a.words) EXPECT_EQ(word, 1u);
    for (const auto word : b.words) EXPECT_EQ(word, 2u);
}

// ---- closures

TEST_P(join_everywhere, takes_lvalues_by_reference) {
    struct counting {
        int calls = 0;
        counting() = default;
        counting(const counting&) = delete; // would not compile
        int operator()() { return ++calls; }
    } f, g;
    const auto [a, b] = rt_.run([&] { return join(f, g); });
    EXPECT_EQ(a, 1);
    EXPECT_EQ(b, 1);
    EXPECT_EQ(f.calls, 1);
    EXPECT_EQ(g.calls, 1);
}

// A fork copies small closures, but not those whose owner would miss what the call changes.
TEST_P(join_everywhere, changes_the_state_of_lvalues) {
    int out = 0;
    auto counts = [n = 0, &out]() mutable { out = ++n; };
    struct overloaded {
        int calls = 0;
        int operator()() { return ++calls; }
        int operator()() const { return -1; }
    } both;
    static_assert(std::is_trivially_copyable_v<decltype(counts)> && std::is_trivially_copyable_v<overloaded>);
    for (int i = 1; i <= 5; i += 2) {
        const auto [a, first] = rt_.run([&] { return join(counts, both); });
        EXPECT_EQ(out, i);
        EXPECT_EQ(first, i);
        const auto [second, b] = rt_.run([&] { return join(both, counts); });
        EXPECT_EQ(out, i + 1);
        EXPECT_EQ(second, i + 1);
    }
}

TEST(join_closures, are_copied_if_small_and_const) {
    const int a = 1, b = 2;
    const auto by_value = [=] { return a + b; };
    auto by_reference = [&] { return a + b; };
    auto with_context = [&](context) { return a; };
    auto generic = [&](auto) { return a; };
    auto changes = [n = 0]() mutable { return ++n; };
    const auto large = [words = std::array<long, 9>{}] { return words[0]; };
    static_assert(impl::copied_by_fork<decltype(by_value)&>);
    static_assert(impl::copied_by_fork<decltype(by_reference)&>);
    static_assert(impl::copied_by_fork<decltype(with_context)&>);
    static_assert(impl::copied_by_fork<decltype(generic)&>);
    static_assert(!impl::copied_by_fork<decltype(changes)&>);
    static_assert(impl::copied_by_fork<decltype(changes)>);
    static_assert(!impl::copied_by_fork<decltype(large)&>);
    static_assert(!impl::copied_by_fork<int (&)()>);
    EXPECT_EQ(by_value() + by_reference() + with_context(context(nullptr)) + generic(0), 8);
    EXPECT_EQ(changes() + large(), 1);
}

TEST_P(join_everywhere, takes_temporaries_that_can_only_be_moved) {
    const auto [a, b] = rt_.run([] {
        return join([p = std::make_unique<int>(1)] { return *p; },
                    [p = std::make_unique<int>(2)] { return *p; });
    });
    EXPECT_EQ(a, 1);
    EXPECT_EQ(b, 2);
}

TEST_P(join_everywhere, takes_const_closures_and_functions) {
    const auto f = [] { return 1; };
    const std::function<int()> g = [] { return 2; };
    const auto [a, b] = rt_.run([&] { return join(f, g); });
    EXPECT_EQ(a + b, 3);
    int (*const pointer)() = [] { return 4; };
    const auto [c, d] = rt_.run([&] { return join(pointer, std::ref(g)); });
    EXPECT_EQ(c + d, 6);
}

TEST_P(join_everywhere, destroys_closures_once) {
    lives closures;
    rt_.run([&] {
        const tracked mine(closures, 5);
        for (int i = 0; i < 100; ++i) {
            const auto [a, b] = join([mine] { return mine.value; }, [mine] { return mine.value; });
            EXPECT_EQ(a + b, 10);
        }
        EXPECT_EQ(closures.alive(), 1);
    });
    test::expect_all_dead(closures);
}

TEST_P(join_everywhere, takes_hints) {
    const join_hints h{.first = {.work = 2, .name = "left"}, .second = {.work = 1, .bytes = 64}};
    const auto [a, b] = rt_.run([&] { return join([] { return 1; }, [] { return 2; }, h); });
    EXPECT_EQ(a + b, 3);
    const auto [c, d] =
        rt_.run([&](context ctx) { return join(ctx, [](context) { return 3; }, [] { return 4; }, h); });
    EXPECT_EQ(c + d, 7);
}

// ---- forms and nesting

TEST_P(join_everywhere, nests) {
    EXPECT_EQ(rt_.run([] { return fib(12); }), 144);
    EXPECT_EQ(rt_.run([](context ctx) { return fib(ctx, 12); }), 144);
}

TEST_P(join_everywhere, forms_may_be_mixed) {
    // Context above, plain below, by a closure without parameter and by enter(), and back.
    struct mixed {
        static long sum(context ctx, int n) {
            if (n == 0) return 1;
            switch (n % 3) {
            case 0: {
                const auto [a, b] =
                    join(ctx, [=](context c) { return sum(c, n - 1); }, [=] { return plain(n - 1); });
                return a + b;
            }
            case 1: {
                const auto [a, b] =
                    join(ctx, [=] { return plain(n - 1); }, [=](context c) { return sum(c, n - 1); });
                return a + b;
            }
            default: return ctx.enter([=] { return plain(n); });
            }
        }
        static long plain(int n) {
            if (n == 0) return 1;
            if (n % 2) {
                const auto [a, b] =
                    join([=] { return plain(n - 1); }, [=](context c) { return sum(c, n - 1); });
                return a + b;
            }
            return sum_below_current(n);
        }
        static long sum_below_current(int n) {
            const context here = context::current();
            const auto [a, b] = join(
                here, [=](context c) { return sum(c, n - 1); }, [=](context c) { return sum(c, n - 1); });
            return a + b;
        }
    };
    for (int n = 0; n < 9; ++n)
        EXPECT_EQ(rt_.run([=](context ctx) { return mixed::sum(ctx, n); }), 1L << n) << n;
}

TEST(join, there_is_no_context_outside_of_a_runtime) { EXPECT_THROW(context::current(), error); }

TEST_P(join_everywhere, enter_restores_the_context_when_left_by_an_exception) {
    const long sum = rt_.run([](context ctx) {
        try {
            join(
                ctx, [](context c) { c.enter([] { join([] { throw failure{1}; }, [] {}); }); },
                [](context) {});
            ADD_FAILURE() << "nothing was thrown";
        } catch (const failure&) {}
        return fib(10) + fib(ctx, 10);
    });
    EXPECT_EQ(sum, 110);
}

TEST_P(join_everywhere, nests_deeply_to_either_side) {
    struct chain {
        static int left(int n) {
            if (n == 0) return 0;
            const auto [a, b] = join([=] { return left(n - 1); }, [] { return 1; });
            return a + b;
        }
        static int right(int n) {
            if (n == 0) return 0;
            const auto [a, b] = join([] { return 1; }, [=] { return right(n - 1); });
            return a + b;
        }
    };
    EXPECT_EQ(rt_.run([] { return chain::left(200); }), 200);
    EXPECT_EQ(rt_.run([] { return chain::right(200); }), 200);
}

TEST_P(join_everywhere, parallel_invoke_runs_each_once) {
    std::array<std::atomic<int>, 7> ran{};
    rt_.run([&] {
        parallel_invoke([&] { ++ran[0]; });
        parallel_invoke([&] { ++ran[1]; }, [&] { ++ran[2]; });
        parallel_invoke([&] { ++ran[3]; }, [&] { return ++ran[4]; },
                        [&, p = std::make_unique<int>(1)] { ran[5] += *p; },
                        [&](context ctx) { join(ctx, [&] { ++ran[6]; }, [] {}); });
    });
    for (const auto& r : ran) EXPECT_EQ(r.load(), 1);
}

TEST_P(join_everywhere, parallel_invoke_throws_what_one_throws) {
    for (int bad = 0; bad < 3; ++bad) {
        EXPECT_EQ(bad, rt_.run([&] {
            return failure_of([&] {
                parallel_invoke(
                    [&] {
                        if (bad == 0) throw failure{0};
                    },
                    [&] {
                        if (bad == 1) throw failure{1};
                    },
                    [&] {
                        if (bad == 2) throw failure{2};
                    });
            });
        }));
    }
}

// ---- exceptions

TEST_P(join_everywhere, throws_what_the_first_throws) {
    lives things;
    const int thrown = rt_.run([&] {
        const tracked mine(things);
        return failure_of([&] {
            join([mine]() -> int { throw failure{1}; }, [mine, &things] { return tracked(things); });
        });
    });
    EXPECT_EQ(thrown, 1);
    test::expect_all_dead(things);
}

TEST_P(join_everywhere, throws_what_the_second_throws) {
    lives things;
    std::atomic<bool> first_ran{false};
    const int thrown = rt_.run([&] {
        const tracked mine(things);
        return failure_of([&] {
            join(
                [mine, &things, &first_ran] {
                    first_ran = true;
                    return tracked(things);
                },
                [mine]() -> int { throw failure{2}; });
        });
    });
    EXPECT_EQ(thrown, 2);
    EXPECT_TRUE(first_ran.load());
    test::expect_all_dead(things);
}

TEST_P(join_everywhere, throws_what_the_first_throws_if_both_do) {
    for (int repeat = 0; repeat < 20; ++repeat) {
        const int thrown = rt_.run(
            [] { return failure_of([] { join([] { throw failure{1}; }, [] { throw failure{2}; }); }); });
        ASSERT_EQ(thrown, 1);
    }
}

TEST_P(join_everywhere, passes_exceptions_through_many_levels) {
    struct tree {
        static int leaves(int depth, int bad) { // the leaf numbered `bad` throws
            if (depth == 0) {
                if (bad == 0) throw failure{7};
                return 1;
            }
            const int half = 1 << (depth - 1);
            const auto [a, b] = join([=] { return leaves(depth - 1, bad < half ? bad : -1); },
                                     [=] { return leaves(depth - 1, bad >= half ? bad - half : -1); });
            return a + b;
        }
    };
    for (int bad = 0; bad < 64; ++bad)
        EXPECT_EQ(7, failure_of([&] { rt_.run([=] { return tree::leaves(6, bad); }); })) << bad;
    EXPECT_EQ(rt_.run([] { return tree::leaves(6, -1); }), 64);
}

TEST_P(join_everywhere, an_exception_caught_inside_leaves_no_trace) {
    const long sum = rt_.run([] {
        long total = 0;
        for (int i = 0; i < 50; ++i) {
            const auto [a, b] = join(
                [=]() -> long {
                    try {
                        join([] { throw failure{1}; }, [] { return fib(5); });
                    } catch (const failure&) {}
                    return fib(6);
                },
                [=]() -> long {
                    try {
                        join([] { return fib(5); }, [] { throw failure{2}; });
                    } catch (const failure&) {}
                    return fib(7);
                });
            total += a + b;
        }
        return total;
    });
    EXPECT_EQ(sum, 50 * (8 + 13));
}

// ---- the second closure is run by another worker: each waits for the other to have begun

class join_stolen : public testing::TestWithParam<test::setup> {
protected:
    /// Ends when both halves of a join have come here.
    struct meeting {
        std::atomic<int> here{0};
        bool attend() {
            ++here;
            return await([&] { return here.load(std::memory_order_acquire) >= 2; });
        }
    };

    runtime rt_{GetParam().options()};
};

INSTANTIATE_TEST_SUITE_P(all, join_stolen,
                         testing::ValuesIn(test::setups_in_turn(test::parallel_policies, {2, 3, 4})),
                         test::setup_name{});

TEST_P(join_stolen, returns_both_results) {
    lives things;
    for (int repeat = 0; repeat < 20; ++repeat) {
        meeting both;
        bool met_f = false, met_g = false;
        const auto [a, b] = rt_.run([&] {
            return join(
                [&, held = tracked(things)] {
                    met_f = both.attend();
                    return tracked(things, 1);
                },
                [&, held = tracked(things)] {
                    met_g = both.attend();
                    return tracked(things, 2);
                });
        });
        ASSERT_TRUE(met_f && met_g);
        ASSERT_EQ(a.value, 1);
        ASSERT_EQ(b.value, 2);
        // Policies whose pools belong to no worker steal nothing here.
        const std::string& policy = GetParam().policy;
        if (policy != "share" && policy != "socket" && policy != "mts" && policy != "pdf" &&
            policy != "insitu") {
            ASSERT_GT(rt_.stats().steals, 0u);
        }
    }
    test::expect_all_dead(things);
}

TEST_P(join_stolen, runs_on_two_threads) {
    meeting both;
    std::thread::id f, g;
    rt_.run([&] {
        join(
            [&] {
                f = std::this_thread::get_id();
                EXPECT_TRUE(both.attend());
            },
            [&] {
                g = std::this_thread::get_id();
                EXPECT_TRUE(both.attend());
            });
    });
    EXPECT_NE(f, g);
}

// H6: the rest may run on another thread.
TEST_P(join_stolen, waits_for_the_thief) {
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::atomic<bool> taken{false};
        bool done = false;
        bool seen = false;
        rt_.run([&] {
            join([&] { seen = await(taken); },
                 [&] {
                     taken.store(true, std::memory_order_release);
                     for (int i = 0; i < 5; ++i) std::this_thread::yield();
                     done = true;
                 });
            EXPECT_TRUE(done);
        });
        ASSERT_TRUE(seen);
    }
}

TEST_P(join_stolen, throws_what_the_first_throws) {
    lives things;
    for (int repeat = 0; repeat < 20; ++repeat) {
        meeting both;
        const int thrown = rt_.run([&] {
            return failure_of([&] {
                join(
                    [&, held = tracked(things)]() -> int {
                        EXPECT_TRUE(both.attend());
                        throw failure{1};
                    },
                    [&, held = tracked(things)] {
                        EXPECT_TRUE(both.attend());
                        return tracked(things);
                    });
            });
        });
        ASSERT_EQ(thrown, 1);
    }
    test::expect_all_dead(things);
}

TEST_P(join_stolen, throws_what_the_second_throws) {
    lives things;
    for (int repeat = 0; repeat < 20; ++repeat) {
        meeting both;
        const int thrown = rt_.run([&] {
            return failure_of([&] {
                join(
                    [&, held = tracked(things)] {
                        EXPECT_TRUE(both.attend());
                        return tracked(things);
                    },
                    [&, held = tracked(things)]() -> int {
                        EXPECT_TRUE(both.attend());
                        throw failure{2};
                    });
            });
        });
        ASSERT_EQ(thrown, 2);
    }
    test::expect_all_dead(things);
}

TEST_P(join_stolen, throws_what_the_first_throws_although_the_second_threw_before) {
    for (int repeat = 0; repeat < 20; ++repeat) {
        meeting both;
        std::atomic<bool> thrown_second{false};
        const int thrown = rt_.run([&] {
            return failure_of([&] {
                join(
                    [&] {
                        EXPECT_TRUE(both.attend());
                        EXPECT_TRUE(await(thrown_second));
                        for (int i = 0; i < 5; ++i) std::this_thread::yield();
                        throw failure{1};
                    },
                    [&] {
                        EXPECT_TRUE(both.attend());
                        struct at_unwinding {
                            std::atomic<bool>& flag;
                            ~at_unwinding() { flag.store(true, std::memory_order_release); }
                        } const tell{thrown_second};
                        throw failure{2};
                    });
            });
        });
        ASSERT_EQ(thrown, 1);
    }
}

TEST_P(join_stolen, keeps_the_exceptions_in_flight_of_the_waiting_code) {
    // The join waits for its thief inside a catch block, while another exception is handled elsewhere.
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::atomic<bool> taken{false};
        const std::string text = rt_.run([&]() -> std::string {
            try {
                throw std::runtime_error("mine");
            } catch (const std::exception&) {
                join([&] { EXPECT_TRUE(await(taken)); },
                     [&] {
                         taken.store(true, std::memory_order_release);
                         EXPECT_EQ(std::current_exception(), nullptr);
                         try {
                             throw failure{3};
                         } catch (const failure&) {
                             for (int i = 0; i < 5; ++i) std::this_thread::yield();
                         }
                     });
                EXPECT_EQ(std::uncaught_exceptions(), 0);
                try {
                    throw; // what this block handles, on whatever thread it is now
                } catch (const std::exception& e) { return e.what(); }
            }
        });
        ASSERT_EQ(text, "mine");
    }
}

TEST_P(join_stolen, over_aligned_captures_survive) {
    struct alignas(64) wide {
        std::array<std::uint64_t, 8> words;
    };
    meeting both;
    wide w;
    w.words.fill(9);
    const auto [a, b] = rt_.run([&] {
        return join(
            [&] {
                EXPECT_TRUE(both.attend());
                return 0;
            },
            [w, &both] {
                EXPECT_TRUE(both.attend());
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&w) % 64, 0u);
                return w;
            });
    });
    EXPECT_EQ(a, 0);
    EXPECT_EQ(b.words, w.words);
}

// ---- threads that are no workers

class join_outside : public testing::Test {
protected:
    static void SetUpTestSuite() { setenv("WEFT_WORKERS", "2", 0); }
};

TEST_F(join_outside, runs_in_the_default_runtime) {
    int worker = -1;
    const auto [a, b] = join(
        [&] {
            worker = this_task::worker();
            return 1;
        },
        [] { return 2; });
    EXPECT_EQ(a + b, 3);
    EXPECT_GE(worker, 0);
    EXPECT_EQ(fib(12), 144);
    int called = 0;
    join([&] { ++called; }, [] {});
    EXPECT_EQ(called, 1);
}

TEST_F(join_outside, throws_and_destroys) {
    lives things;
    {
        const tracked mine(things);
        EXPECT_EQ(1, failure_of([&] { join([mine] { throw failure{1}; }, [mine] {}); }));
        EXPECT_EQ(2, failure_of([&] { join([mine] {}, [mine] { throw failure{2}; }); }));
        auto [a, b] = join([mine] { return mine; }, [mine] { return std::make_unique<int>(3); });
        EXPECT_EQ(*b, 3);
    }
    test::expect_all_dead(things);
}

TEST_F(join_outside, several_threads_at_once) {
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int t = 0; t < 6; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 20; ++i)
                if (fib(10) == 55) ++right;
            parallel_invoke([&] { ++right; }, [&] { ++right; }, [&] { ++right; });
        });
    for (auto& t : threads) t.join();
    EXPECT_EQ(right.load(), 6 * 23);
}

} // namespace
} // namespace weft
