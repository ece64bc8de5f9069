// weft
//
// Streams of tasks that run once and are forgotten; and graphs that check what their tasks touch.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/graphs.hpp"

namespace weft {
namespace {

using namespace test::graphs;

/// Of memory in use, in megabytes: as the system sees it.
double megabytes() {
    std::ifstream in("/proc/self/statm");
    double whole = 0, resident = 0;
    in >> whole >> resident;
    return resident * 4096 / 1e6;
}

// E5.
TEST(graph_stream, ten_million_tasks_fit_in_memory_when_they_end_as_they_are_added) {
    const int many = test::sanitized ? 200'000 : 10'000'000;
    runtime rt(with("steal", 2));
    std::vector<std::uint64_t> data(1024);
    double most = 0;
    const double before = megabytes();
    rt.run([&] {
        graph dag({.once = true});
        dag.start();
        for (int i = 0; i < many; ++i) {
            auto& x = data[static_cast<std::size_t>(i) % data.size()];
            dag.add([&x] { ++x; }, readwrite(x));
            if (i % 100'000 == 0) most = std::max(most, megabytes());
        }
        dag.wait();
        most = std::max(most, megabytes());
    });
    std::uint64_t sum = 0;
    for (const auto x : data) sum += x;
    EXPECT_EQ(sum, static_cast<std::uint64_t>(many));
    EXPECT_LT(most - before, test::sanitized ? 1e9 : 150)
        << "megabytes"; // kept, the nodes alone would be 640
}

TEST(graph_stream, the_result_is_that_of_the_order_of_adding) {
    for (const std::string policy : {"steal", "share", "serial", "socket", "chaos:of=steal"}) {
        runtime rt(with(policy, 4));
        constexpr int many = test::sanitized ? 5'000 : 50'000;
        std::array<std::uint64_t, 16> x{}, expected{};
        const auto step = [](auto& d, int i) {
            const auto a = static_cast<std::size_t>(i * 7 % 16), b = static_cast<std::size_t>(i * i % 16);
            d[a] = d[a] * 31 + d[b] + static_cast<std::uint64_t>(i);
        };
        graph dag({.once = true, .throttle = 256});
        for (int repeat = 0; repeat < 3; ++repeat) {
            for (int i = 0; i < many; ++i) step(expected, i);
            rt.run([&] {
                // Some before it runs, most while it does.
                for (int i = 0; i < many; ++i) {
                    if (i == 100) dag.start();
                    const auto a = static_cast<std::size_t>(i * 7 % 16),
                               b = static_cast<std::size_t>(i * i % 16);
                    dag.add([&, i] { step(x, i); }, readwrite(x[a]), read(x[b]), name("step"));
                }
                dag.wait();
            });
            ASSERT_EQ(x, expected) << policy;
        }
        EXPECT_NE(message_of([&] { static_cast<void>(dag.dot()); }).find("once"), std::string::npos);
    }
}

// E6.
TEST(graph_stream, an_adder_that_is_too_fast_waits) {
    runtime rt(with("steal", 2));
    std::atomic<int> ended{0};
    int most = 0;
    constexpr int throttle = 100;
    const auto add_all = [&](graph& dag) {
        for (int i = 0; i < 20'000; ++i) {
            dag.add([&] { ++ended; });
            most = std::max(most, i + 1 - ended.load());
        }
    };
    rt.run([&] {
        graph dag({.once = true, .throttle = throttle});
        dag.start();
        add_all(dag);
        std::thread outside([&] { add_all(dag); });
        outside.join();
        dag.wait();
    });
    EXPECT_EQ(ended, 40'000);
    EXPECT_LE(most, throttle + 1);
}

TEST(graph_stream, an_adder_that_is_waited_for_is_not_held_up_for_ever) {
    runtime rt(with("steal", 2));
    rt.run([] {
        graph dag({.once = true, .throttle = 10});
        std::atomic<int> ended{0};
        latch all_added(1);
        dag.start();
        datum d;
        dag.add([&] { all_added.wait(); }, write(d));
        for (int i = 0; i < 100; ++i) dag.add([&] { ++ended; }, read(d));
        all_added.count_down();
        // A task of the graph adds what can begin when it has ended only.
        dag.add(
            [&] {
                for (int i = 0; i < 100; ++i) dag.add([&] { ++ended; }, read(d));
            },
            write(d));
        dag.wait();
        EXPECT_EQ(ended, 200);
    });
}

TEST(graph_stream, what_depends_on_a_forgotten_or_failed_task) {
    runtime rt(with("steal", 1)); // child-first: a task has ended when add() returns
    rt.run([] {
        graph dag({.once = true});
        dag.start();
        int x = 0, y = 0, ran = 0;
        const graph_task first = dag.add([&] { ++ran; }, write(x));
        dag.add([] { throw std::runtime_error("no"); }, write(y));
        for (int i = 0; i < 5000; ++i) dag.add([&] { ++ran; }); // the first ones are forgotten by now
        dag.add([&] { ++ran; }, read(x), after(first));
        dag.add([] { ADD_FAILURE(); }, read(y));
        EXPECT_THROW(dag.wait(), std::runtime_error);
        EXPECT_EQ(ran, 5002);
        dag.add([&] { ++ran; }, read(x), read(y)); // in a new run nothing has failed
        dag.run();
        EXPECT_EQ(ran, 5003);
    });
}

// ---- the checker

TEST(graph_check, names_a_task_that_touches_what_it_did_not_declare) {
    for (const std::string policy : {"steal", "share", "serial"}) {
        runtime rt(with(policy, 2));
        std::vector<double> a(100), b(100);
        int c = 0;
        datum handle;
        graph dag({.check_accesses = true});
        dag.add([&] { touch(a.data(), 800, access::write); }, write(std::span(a)));
        dag.add([&] { touch(a.data() + 50, 8, access::read); }, readwrite(std::span(a)));
        dag.add([&] { touch(b.data(), 800, access::readwrite); }, commutative(b[0]));
        dag.add([&] { touch(&c, sizeof c, access::write); }, write(handle)); // not checked
        rt.run([&] { dag.run(); });

        dag.add([&] { touch(a.data(), 8, access::write); }, read(std::span(a)), name("sneaky"));
        dag.add(
            [&] {
                join([&] { touch(b.data(), 8, access::read); }, [&] { touch(&c, sizeof c, access::read); });
                task_group g;
                g.run([&] { touch(b.data() + 1, 8, access::read); });
                g.wait();
            },
            read(c));
        for (int run = 0; run < 2; ++run) {
            const std::string told = message_of([&] { rt.run([&] { dag.run(); }); });
            for (const char* part :
                 {"task 4 'sneaky' writes 8 bytes", "declares to read", "task 5 reads 8 bytes at"})
                EXPECT_NE(told.find(part), std::string::npos) << policy << told;
            EXPECT_EQ(told.find("task 5 reads 4 bytes"), std::string::npos) << told;
            EXPECT_EQ(told.find("task 3"), std::string::npos) << told;
        }
    }
}

} // namespace
} // namespace weft
