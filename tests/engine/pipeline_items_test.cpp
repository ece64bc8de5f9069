// Pipelines by their interface: the types of items, misuse, callers, and what traces and modelled machines show.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include "engine/modelled.hpp"
#include "engine/preempted.hpp"
#include "engine/support.hpp"
#include "engine/traced.hpp"

namespace weft {
namespace {

using trace::kind;

auto numbers(int count) {
    return [i = 0, count]() mutable -> std::optional<int> {
        return i < count ? std::optional(i++) : std::nullopt;
    };
}

// ---- types

struct immovable {
    explicit immovable(int v) : value(v) {}
    immovable(immovable&&) = delete;
    int value;
};

TEST(pipeline_items, need_be_neither_copyable_nor_movable) {
    int sum = 0;
    pipeline p(stage::serial(numbers(10)), stage::parallel([](int i) { return immovable(i); }),
               stage::parallel([](immovable& i) { i.value *= 2; }),
               stage::parallel([](immovable&& i) { return immovable(i.value + 1); }),
               stage::serial([&](const immovable& i) { sum += i.value; }));
    p.run(3);
    EXPECT_EQ(sum, 100);
}

TEST(pipeline_items, are_not_moved_by_the_pipeline) {
    struct counting {
        int* moves;
        explicit counting(int& m) : moves(&m) {}
        counting(counting&& other) noexcept : moves(other.moves) { ++*moves; }
    };
    int moves = 0, passed = 0;
    pipeline p(stage::serial([&, i = 0]() mutable -> std::optional<counting> {
                   return i++ < 5 ? std::optional<counting>(std::in_place, moves) : std::nullopt;
               }),
               stage::serial([](counting&& c) { return counting(*c.moves); }),
               stage::serial([](counting&) {}), stage::serial([&](counting&&) { ++passed; }));
    p.run(2);
    EXPECT_EQ(passed, 5);
    EXPECT_EQ(moves, 0);
}

TEST(pipeline_items, may_be_references) {
    std::vector<int> data{1, 2, 3, 4};
    std::vector<const int*> seen;
    pipeline p(stage::serial([&, i = std::size_t{0}]() mutable -> std::optional<int*> {
                   return i < data.size() ? std::optional(&data[i++]) : std::nullopt;
               }),
               stage::parallel([](int* at) -> int& { return *at; }),
               stage::parallel([](int& i) -> int& { return i += 10, i; }),
               stage::parallel([](int& i) { ++i; }), // void, so the reference goes on
               stage::serial_in_order([&](const int& i) { seen.push_back(&i); }));
    p.run(2);
    EXPECT_EQ(data, (std::vector{12, 13, 14, 15}));
    ASSERT_EQ(seen.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(seen[i], &data[i]);
}

TEST(pipeline_items, may_be_large_and_aligned) {
    struct alignas(256) large {
        std::array<std::uint64_t, 1000> words;
    };
    std::uint64_t sum = 0;
    pipeline p(stage::serial(numbers(20)), stage::parallel([](int i) {
                   large l;
                   l.words.fill(static_cast<std::uint64_t>(i));
                   return l;
               }),
               stage::parallel([](const large& l) {
                   EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&l) % 256, 0U);
                   return l.words[999];
               }),
               stage::serial([&](std::uint64_t w) { sum += w; }));
    p.run(4);
    EXPECT_EQ(sum, 190U);
}

TEST(pipeline_items, may_be_optional_in_the_middle) {
    int with = 0, without = 0;
    pipeline p(stage::serial(numbers(10)),
               stage::parallel([](int i) { return i % 3 == 0 ? std::optional(i) : std::nullopt; }),
               stage::serial([&](std::optional<int> i) { ++(i ? with : without); }));
    p.run(3);
    EXPECT_EQ(with, 4);
    EXPECT_EQ(without, 6);
}

int doubled(int i) { return 2 * i; }
struct holder {
    int value;
    int get() const { return value; }
};

TEST(pipeline_items, functions_and_members_are_stages) {
    int sum = 0;
    pipeline p(stage::serial(numbers(4)), stage::parallel(doubled),
               stage::parallel([](int i) { return holder{i}; }), stage::parallel(&holder::get),
               stage::serial([&](int i) { sum += i; }));
    p.run(2);
    EXPECT_EQ(sum, 12);
}

TEST(pipeline_items, stages_own_what_they_capture) {
    int sum = 0;
    auto factor = std::make_unique<int>(3);
    pipeline p(stage::serial(numbers(4)),
               stage::parallel([f = std::move(factor)](int i) { return i * *f; }), // movable only
               stage::serial([&](int i) { sum += i; }));
    p.run(2);
    EXPECT_EQ(sum, 18);
}

// ---- callers and misuse

TEST(pipeline, runs_in_a_plain_thread_and_in_a_task) {
    int passed = 0;
    const auto run = [&] {
        pipeline p(stage::serial(numbers(50)), stage::parallel([](int i) { return i; }),
                   stage::serial_in_order([&](int i) { EXPECT_EQ(i, passed++); }));
        p.run(4);
    };
    run();
    EXPECT_EQ(passed, 50);
    passed = 0;
    async(run).get();
    EXPECT_EQ(passed, 50);
    passed = 0;
    std::thread(run).join();
    EXPECT_EQ(passed, 50);
}

template <class F>
std::string error_of(F&& f) {
    try {
        f();
    } catch (const error& e) { return e.what(); }
    return "";
}

TEST(pipeline, misuse_is_an_error) {
    std::string inner;
    std::function<void()> run_again;
    pipeline p(stage::serial(numbers(1)), stage::serial([&](int) { inner = error_of(run_again); }));
    run_again = [&] { p.run(1); };
    EXPECT_NE(error_of([&] { p.run(0); }).find("0 tokens"), std::string::npos);
    EXPECT_NE(error_of([&] { p.run(static_cast<std::size_t>(-1)); }).find("1 to 16777216"),
              std::string::npos);
    p.run(1);
    EXPECT_NE(inner.find("runs already"), std::string::npos);
}

TEST(pipeline, is_cancelled_by_a_thread_outside) {
    std::atomic<int> made{0};
    pipeline p(stage::serial([&]() -> std::optional<int> {
                   std::this_thread::yield();
                   return ++made;
               }),
               stage::parallel([](int) {}));
    std::thread other([&] {
        EXPECT_TRUE(test::await([&] { return made.load() > 100; }));
        p.cancel();
    });
    p.run(3);
    other.join();
    EXPECT_GT(made.load(), 100);
}

TEST(pipeline, many_run_at_the_same_time) {
    runtime rt({.workers = 3});
    std::atomic<int> sum{0};
    rt.run([&] {
        parallel_for(0, 40, [&](int k) {
            int of_this = 0;
            pipeline p(stage::serial(numbers(k)), stage::parallel([](int i) { return i; }),
                       stage::serial_in_order([&](int i) { EXPECT_EQ(i, of_this++); }));
            p.run(static_cast<std::size_t>(1 + k % 5));
            sum += of_this;
        });
    });
    EXPECT_EQ(sum.load(), 780);
}

// A token goes from one parallel stage to the next on its worker, however many others are idle.
TEST(pipeline, a_worker_carries_its_item) {
    runtime rt({.workers = 4, .policy = "steal"});
    int items = 0;
    rt.run([&] {
        pipeline p(stage::serial(numbers(500)), stage::parallel([](int) { return this_task::worker(); }),
                   stage::parallel([](int w) {
                       EXPECT_EQ(w, this_task::worker());
                       return w;
                   }),
                   stage::parallel([](int w) { EXPECT_EQ(w, this_task::worker()); }),
                   stage::serial([&](int) { ++items; }));
        p.run(12);
    });
    EXPECT_EQ(items, 500);
}

long resident_kbytes() {
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

TEST(pipeline, a_million_items_need_little_memory) {
    if (test::sanitized) GTEST_SKIP() << "the memory of the sanitizer";
    for (const char* policy : {"steal", "steal:zone=reported", "share"}) {
        runtime rt({.workers = 3, .policy = policy});
        const auto run = [&](int items) {
            int passed = 0;
            rt.run([&] {
                pipeline p(stage::serial(numbers(items)), stage::parallel([](int i) { return i; }),
                           stage::serial_in_order([&](int i) { EXPECT_EQ(i, passed++); }));
                p.run(16);
            });
            EXPECT_EQ(passed, items);
        };
        run(10'000);
        const long before = resident_kbytes();
        run(1'000'000);
        EXPECT_LE(resident_kbytes() - before, 16 * 1024) << policy;
    }
}

// ---- preemption

TEST(pipeline, of_preempted_tasks) {
    for (const char* how : {"yield:interval=200us", "klt:interval=200us"}) {
        runtime rt(test::preempting(how));
        int passed = 0;
        rt.run([&] {
            pipeline p(stage::serial(numbers(300)), stage::parallel([](int i) {
                           const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
                           while (std::chrono::steady_clock::now() < end) {}
                           return i;
                       }),
                       stage::serial_in_order([&](int i) { EXPECT_EQ(i, passed++); }));
            p.run(6);
        });
        EXPECT_EQ(passed, 300) << how;
    }
}

// Only the stage with a type is preempted: the others keep theirs.
TEST(pipeline, a_stage_may_have_a_type_of_its_own) {
    runtime rt(test::preempting("off"));
    std::atomic<int> typed{0}, others{0};
    const auto type_of_caller = [] {
        const impl::tick_hold here;
        return impl::hot_self()->current->running->preempt();
    };
    rt.run([&] {
        pipeline p(stage::serial([&, i = 0]() mutable -> std::optional<int> {
                       others += type_of_caller() == preemption::off;
                       return i < 40 ? std::optional(i++) : std::nullopt;
                   }),
                   stage::parallel([&](int&) { typed += type_of_caller() == preemption::klt; },
                                   {.preempt = preemption::klt}),
                   stage::serial_in_order([&](int) { others += type_of_caller() == preemption::off; }));
        p.run(4);
    });
    EXPECT_EQ(typed.load(), 40);
    EXPECT_EQ(others.load(), 81);
}

// ---- traces

TEST(pipeline, traces_name_the_stages) {
    for (const bool modelled : {false, true}) {
        for (const char* policy : {"steal", "steal:zone=reported", "steal-parent-first"}) {
            if (modelled && test::thread_sanitized) continue;
            const std::string file = test::trace_path("pipeline");
            {
                runtime_options o{.workers = 2, .policy = policy};
                o.trace = file;
                if (modelled) {
                    o.engine = "model";
                    o.machine = WEFT_SOURCE_DIR "/machines/opteron-8380-4x4.toml";
                }
                runtime rt(o);
                rt.run([] {
                    pipeline p(stage::serial(numbers(20), {.name = "made"}),
                               stage::parallel([](int i) { return i; }, {.name = "changed"}),
                               stage::serial_in_order([](int) {}, {.name = "taken"}));
                    p.run(4);
                });
            }
            test::trace_read all(file);
            EXPECT_TRUE(all.is_complete);
            std::map<std::uint64_t, std::string> name_of;
            std::map<std::string, int> begun, ended;
            for (const auto& [stream, records] : all.streams)
                for (const auto& r : records)
                    if (r.what_kind == kind::spawn && all.names.contains(r.n))
                        name_of[r.a] = all.names.at(r.n);
            for (const auto& [stream, records] : all.streams)
                for (const auto& r : records) {
                    if (r.what_kind == kind::begin) ++begun[name_of[r.a]];
                    if (r.what_kind == kind::end) ++ended[name_of[r.a]];
                }
            for (const char* name : {"changed", "taken"}) {
                EXPECT_EQ(begun[name], 20) << name << " " << policy << (modelled ? " modelled" : "");
                EXPECT_EQ(ended[name], 20) << name << " " << policy << (modelled ? " modelled" : "");
            }
            EXPECT_GE(begun["made"], 21) << policy; // the last one found that the input has ended
            const test::trace_player played(all, 2'000);
            std::remove(file.c_str());
        }
    }
}

// ---- modelled machines

struct modelled_run {
    time_ns took;
    std::vector<int> order;
};

modelled_run run_modelled(const std::string& policy, const machine& on, int items, std::uint64_t parallel_ns,
                          std::uint64_t serial_ns, std::size_t tokens) {
    modelled_run r{};
    test::modelled m(make_policy(policy), on, 1,
                     100'000); // idle workers look for work for a while, as real ones do
    r.took = m.run([&] {
        pipeline p(stage::serial([&, i = 0]() mutable -> std::optional<int> {
                       if (i == items) return std::nullopt;
                       cost(serial_ns);
                       return i++;
                   }),
                   stage::parallel([&](int& i) {
                       cost(parallel_ns);
                       r.order.push_back(i);
                   }),
                   stage::serial_in_order([&](int) { cost(serial_ns); }));
        p.run(tokens);
    });
    return r;
}

TEST(pipeline_modelled, is_the_same_in_each_run) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    const machine on = test::cores{.cores_per_domain = 4, .cost = test::runtime_cost::usual}.build();
    for (const std::string& policy : test::policies_of_suite) {
        const modelled_run a = run_modelled(policy, on, 60, 3'000, 700, 7),
                           b = run_modelled(policy, on, 60, 3'000, 700, 7);
        EXPECT_EQ(a.took, b.took) << policy;
        EXPECT_EQ(a.order, b.order) << policy;
        EXPECT_EQ(a.order.size(), 60U) << policy;
    }
}

// A run takes no less than its work by the cores, and no less than its longest serial stage; and little more than that.
TEST(pipeline_modelled, uses_all_cores) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    constexpr int items = 400;
    const machine on = test::cores{.cores_per_domain = 4, .cost = test::runtime_cost::usual}.build();
    for (const char* policy : {"steal", "near", "steal:zone=reported", "steal-parent-first", "share"}) {
        for (const auto& [parallel_ns, serial_ns] :
             {std::pair{100'000, 5'000}, {20'000, 2'000}, {40'000, 20'000}}) {
            const modelled_run r = run_modelled(policy, on, items, static_cast<std::uint64_t>(parallel_ns),
                                                static_cast<std::uint64_t>(serial_ns), 16);
            const double work = items * (parallel_ns + 2.0 * serial_ns) / 4,
                         chain = items * static_cast<double>(serial_ns);
            const double least = std::max(work, chain);
            const auto took = static_cast<double>(r.took);
            std::printf("%s, %d and %d ns: %.3f of the least time\n", policy, parallel_ns, serial_ns,
                        took / least);
            EXPECT_GE(took, least) << policy;
            EXPECT_LE(took, 1.25 * least) << policy << " " << parallel_ns;
        }
    }
}

} // namespace
} // namespace weft
