// Forks that a profile skips: what is measured of them is exact, and the rest is near what a profile finds that skips nothing.
#include "trace/profile/profile.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

namespace weft::trace {
namespace {

/// The events of one worker that runs joins inside of one root, in nanoseconds.
class made_run {
public:
    /// `cost`: what a fork takes longer if it is followed.
    explicit made_run(bool may_skip, std::int64_t cost = 0) : may_skip_(may_skip), cost_(cost) {
        root_ = p.new_task();
        note(kind::spawn, root_, static_cast<std::uint8_t>(origin::root), 0);
        note(kind::begin, root_, static_cast<std::uint8_t>(start::fresh), 0);
    }

    void work(std::int64_t ns) { at_ += static_cast<std::uint64_t>(ns); }

    /// `of`: the construct of the second closure.
    void fork(std::uint32_t of, const std::function<void()>& first, const std::function<void()>& second) {
        ++forks;
        if (inside_) return first(), second();
        if (may_skip_ && p.skips(of)) {
            ++skipped;
            p.skipped_begins(at_);
            for (const auto* closure : {&first, &second}) {
                inside_ = true;
                const std::uint64_t began = at_;
                (*closure)();
                const bool is_long = at_ - began > 2'000'000;
                if (inside_) p.skipped_ends(at_, is_long);
                if (!inside_) return; // followed from some point in it: the rest is of the task
                inside_ = false;
            }
            return;
        }
        const std::uint32_t t = p.new_task();
        work(cost_);
        note(kind::spawn, t, static_cast<std::uint8_t>(origin::fork), of);
        first();
        note(kind::begin, t, static_cast<std::uint8_t>(start::inside), of);
        second();
        note(kind::end, t, 0, of);
    }

    /// Something happens that needs events.
    void stop_skipping() {
        if (!inside_) return;
        p.skipped_is_followed(at_);
        inside_ = false;
    }

    /// A child of a group, of construct 3.
    void child(std::int64_t ns) {
        stop_skipping();
        constexpr std::uint64_t group = 7;
        const std::uint32_t t = p.new_task();
        p.take({at_, t, group, 3, kind::spawn, static_cast<std::uint8_t>(origin::child), 0});
        note(kind::begin, t, static_cast<std::uint8_t>(start::below), 3);
        work(ns);
        note(kind::end, t, 0, 3);
        p.take({at_, root_, group, 0, kind::waited, 0, 0});
    }

    profiled_program finish() {
        note(kind::end, root_, 0, 0);
        return p.finish(at_);
    }

    int forks = 0, skipped = 0; ///< skipped ones without those inside of them

private:
    void note(kind k, std::uint32_t task, std::uint8_t what, std::uint32_t name) {
        p.take({at_, task, 0, name, k, what, 0});
    }

    profile p{{}, 1};
    const bool may_skip_;
    const std::int64_t cost_;
    bool inside_ = false;
    std::uint32_t root_ = 0;
    std::uint64_t at_ = 1;
};

struct both {
    profiled_program exact, skipping;
    int forks, skipped;
};

both run(const std::function<void(made_run&)>& program, std::int64_t cost = 0) {
    made_run all(false), some(true, cost);
    program(all);
    program(some);
    return {all.finish(), some.finish(), some.forks, some.skipped};
}

/// Within `percent` of `expected`.
template <class Number>
void expect_near(Number found, Number expected, double percent) {
    EXPECT_NEAR(static_cast<double>(found), static_cast<double>(expected),
                static_cast<double>(expected) * percent / 100);
}

void tree(made_run& r, int levels, std::int64_t leaf) {
    if (levels == 0) return r.work(leaf);
    r.work(5);
    r.fork(1, [&] { tree(r, levels - 1, leaf); }, [&] { tree(r, levels - 1, leaf); });
}

TEST(trace_profile, a_tree_of_tiny_tasks_is_skipped_below_some_level) {
    const both b = run([](made_run& r) { tree(r, 18, 10); });
    EXPECT_EQ(b.skipping.work, b.exact.work);
    EXPECT_LT(b.skipped, b.forks / 100);
    expect_near(b.skipping.tasks, b.exact.tasks, 0.1);
    EXPECT_EQ(b.exact.span.plain(), 18 * 5 + 10);
    expect_near(b.skipping.span.plain(), b.exact.span.plain(), 1);
    for (std::size_t k = 1; k < b.exact.span.of.size(); ++k)
        expect_near(b.skipping.span.of[k], b.exact.span.of[k], 1);
    const construct_figures &is = b.skipping.constructs[1], &was = b.exact.constructs[1];
    expect_near(is.own, was.own, 0.1);
    expect_near(is.tasks, was.tasks, 0.1);
    expect_near(is.work, was.work, 0.1);
    EXPECT_GT(b.skipping.skipped.forks, 500U);
    EXPECT_GT(b.skipping.skipped.time, b.exact.work / 2);
    EXPECT_EQ(b.exact.skipped.forks, 0U);
}

void fib(made_run& r, int n) {
    if (n < 2) return r.work(8);
    r.work(4);
    r.fork(1, [&] { fib(r, n - 1); }, [&] { fib(r, n - 2); });
    r.work(1);
}

TEST(trace_profile, an_uneven_tree) {
    const both b = run([](made_run& r) { fib(r, 30); });
    EXPECT_EQ(b.skipping.work, b.exact.work);
    EXPECT_LT(b.skipped, b.forks / 50);
    expect_near(b.skipping.tasks, b.exact.tasks, 15); // few of those that are alike have most of the tasks
    expect_near(b.skipping.span.plain(), b.exact.span.plain(), 25);
    for (std::size_t k = 1; k < b.exact.span.of.size(); ++k)
        expect_near(b.skipping.span.of[k], b.exact.span.of[k], 10);
}

/// Forks that are followed take several times as long as if they are skipped.
TEST(trace_profile, what_following_costs_is_not_taken_for_work) {
    for (const auto& program : {+[](made_run& r) { fib(r, 30); }, +[](made_run& r) { tree(r, 18, 10); }}) {
        const both b = run(program, 60);
        expect_near(b.skipping.tasks, b.exact.tasks, 30);
        expect_near(b.skipping.work, b.exact.work, 40); // 6 times if all were followed
    }
}

TEST(trace_profile, what_lies_inside_is_divided_as_in_the_samples) {
    const both b = run([](made_run& r) {
        for (int i = 0; i < 5000; ++i) {
            r.work(100);
            r.fork(
                1, [&] { r.work(50); },
                [&] {
                    r.work(300);
                    r.fork(2, [&] { r.work(10); }, [&] { r.work(200); });
                });
        }
    });
    EXPECT_GT(b.skipped, 3500);
    EXPECT_EQ(b.skipping.work, b.exact.work);
    for (const std::uint32_t c : {0U, 1U, 2U}) {
        expect_near(b.skipping.constructs[c].own, b.exact.constructs[c].own, 1);
        expect_near(b.skipping.constructs[c].work, b.exact.constructs[c].work, 1);
        expect_near(b.skipping.constructs[c].span, b.exact.constructs[c].span, 1);
        expect_near(b.skipping.constructs[c].tasks, b.exact.constructs[c].tasks, 1);
    }
    expect_near(b.skipping.span.plain(), b.exact.span.plain(), 1);
}

TEST(trace_profile, long_forks_are_followed) {
    const both b = run([](made_run& r) { tree(r, 6, 10'000); });
    EXPECT_EQ(b.skipped, 0);
    EXPECT_EQ(b.skipping.span, b.exact.span);
    EXPECT_EQ(b.skipping.tasks, b.exact.tasks);
}

TEST(trace_profile, what_no_skipped_fork_has_is_not_estimated) {
    const both b = run([](made_run& r) {
        for (int i = 0; i < 5000; ++i)
            r.fork(1, [&] { r.work(200); }, [&] { i % 10 == 9 ? r.child(200) : r.work(200); });
    });
    EXPECT_GT(b.skipped, 500);
    EXPECT_EQ(b.skipping.work, b.exact.work);
    EXPECT_EQ(b.skipping.constructs[3].tasks, 500U);
    EXPECT_EQ(b.skipping.constructs[3].own, 500 * 200);
}

/// One fork in a thousand takes a hundred times as long as what is short.
TEST(trace_profile, a_long_fork_among_short_ones) {
    const both b = run([](made_run& r) {
        for (int i = 0; i < 20'000; ++i) {
            const std::int64_t takes = i % 1000 == 999 ? 400'000 : 400;
            r.fork(1, [&] { r.work(takes); }, [&] { r.work(takes); });
        }
    });
    EXPECT_GT(b.skipped, 10'000);
    EXPECT_EQ(b.skipping.work, b.exact.work);
    expect_near(b.skipping.span.plain(), b.exact.span.plain(), 5);
}

TEST(trace_profile, a_long_piece_in_a_skipped_fork_is_seen) {
    const both b = run([](made_run& r) {
        for (int i = 0; i < 1000; ++i)
            r.fork(1, [&] { r.work(100); }, [&] { r.work(i == 777 ? 26'000'000 : 100); });
    });
    EXPECT_GT(b.skipped, 700);
    EXPECT_EQ(b.skipping.work, b.exact.work);
    expect_near(b.skipping.span.plain(), b.exact.span.plain(), 1);
    EXPECT_GE(b.skipping.path[0].longest, 26'000'000);
}

/// Wherever it comes, also where the profile takes a sample: others like it are not taken to be as large.
TEST(trace_profile, a_large_fork_is_no_sample_of_short_ones) {
    for (int at = 300; at < 320; ++at) {
        const both b = run([at](made_run& r) {
            for (int i = 0; i < 500; ++i)
                r.fork(
                    1, [&] { r.work(100); },
                    [&] {
                        for (int k = 0; i == at && k < 500; ++k) {
                            if (k > 200) r.stop_skipping();
                            r.fork(2, [&] { r.work(5000); }, [&] { r.work(5000); });
                        }
                    });
        });
        EXPECT_GT(b.skipped, 200) << at;
        EXPECT_EQ(b.skipping.work, b.exact.work) << at;
        expect_near(b.skipping.tasks, b.exact.tasks, 25); // 200 may be among those of a skipped fork
        EXPECT_NEAR(static_cast<double>(b.skipping.constructs[1].tasks), 500, 1)
            << at; // one is part of its task
    }
}

/// A fork like many short ones becomes large, and its forks are events from some point on.
TEST(trace_profile, a_skipped_fork_is_followed_again) {
    const both b = run([](made_run& r) {
        for (int i = 0; i < 1000; ++i) r.fork(1, [&] { r.work(100); }, [&] { r.work(100); });
        r.fork(
            1, [&] { r.work(1'000'000); },
            [&] {
                r.work(1'000'000);
                r.stop_skipping();
                r.fork(2, [&] { r.work(5'000'000); }, [&] { r.work(5'000'000); });
            });
        for (int i = 0; i < 100; ++i) r.fork(1, [&] { r.work(100); }, [&] { r.work(100); });
    });
    EXPECT_EQ(b.skipping.work, b.exact.work);
    EXPECT_EQ(b.skipping.constructs[2].own, 5'000'000);
    // Of the million that was skipped half is taken to be parallel, as it was.
    expect_near(b.skipping.span.plain(), b.exact.span.plain(), 10);
    EXPECT_TRUE(b.skipping.is_complete);
}

} // namespace
} // namespace weft::trace
