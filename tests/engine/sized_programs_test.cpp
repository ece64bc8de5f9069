// ctest: tsan_cases=*on_threads*
//
// Programs that declare how much their tasks touch, under the policies that use it. These policies hold back
// some tasks while others run, and each waiting task must still get what it waits for.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/modelled.hpp"
#include "engine/recorded_runs.hpp"
#include "engine/support.hpp"
#include "machine/load.hpp"

namespace weft {
namespace {

using namespace test;

constexpr std::size_t l2 = 4000, l1 = 400;
const char* const policies_under_test[] = {"cpdf:l2=4000,l1=400",
                                           "cpdf:l2=4000,l1=1",
                                           "chaos:hold=50,blind=50,of=cpdf:l2=4000,l1=400",
                                           "ml-adws",
                                           "ml-steal",
                                           "ml-steal:zone=reported",
                                           "chaos:hold=50,blind=50,of=ml-steal",
                                           "sb",
                                           "sb:sigma=100,mu=50",
                                           "sb:zone=reported",
                                           "chaos:hold=50,blind=50,of=sb"};

/// Caches of 8000 bytes for two cores each, and of 1000 for one.
const char* const caches = "pack:4 [numa] l3:1(size=8000) core:2 l2:1(size=1000) pu:1";
machine with_caches(int domains, int cores) {
    return parse_toml(
        "name = 'small caches'\n[[core_class]]\nname = 'core'\nfrequency_mhz = 1000\n[regular]\n"
        "packages = 1\ndomains_per_package = " +
            std::to_string(domains) + "\ncores_per_domain = " + std::to_string(cores) +
            "\n[[cache]]\nlevel = 1\nbytes = '1000 B'\nshared_by = 'core'\n"
            "[[cache]]\nlevel = 3\nbytes = '8000 B'\nshared_by = 'domain'\n",
        "small caches");
}

/// Halves its bytes from task to task, or says nothing of them; locks are held across yields, and siblings
/// wait for each other's futures.
std::uint64_t sized(std::uint64_t drawn_by, std::size_t bytes, int depth) {
    std::mt19937_64 random(drawn_by);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    take_ns(below(2000));
    if (depth == 0) return random();
    const std::uint64_t x = random(), y = random();
    const std::size_t half = bytes / 2;
    const auto hint = [&] { return hints{.bytes = below(5) == 0 ? 0 : half}; };
    std::uint64_t a = 0, b = 0;
    switch (below(5)) {
    case 0:
        join([&] { a = sized(x, half, depth - 1); }, [&] { b = sized(y, half, depth - 1); },
             join_hints{.first = hint(), .second = hint()});
        break;
    case 1: {
        task_group g(hints{.bytes = below(3) == 0 ? 0 : bytes});
        g.run([&] { a = sized(x, half, depth - 1); }, hint());
        g.run([&] { b = sized(y, half, depth - 1); }, hint());
        g.wait();
        break;
    }
    case 2: {
        mutex m;
        task_group g;
        for (std::uint64_t* const into : {&a, &b})
            g.run(
                [&, into] {
                    const std::lock_guard lock(m);
                    *into = sized(into == &a ? x : y, half, depth - 1);
                    this_task::yield();
                },
                hint());
        g.wait();
        break;
    }
    case 3: { // the first child waits for the second by yielding
        std::atomic<bool> ready{false};
        task_group g;
        g.run(
            [&] {
                while (!ready.load()) this_task::yield();
                a = sized(x, half, depth - 1);
            },
            hint());
        g.run(
            [&] {
                b = sized(y, half, depth - 1);
                ready = true;
            },
            hint());
        g.wait();
        break;
    }
    default: {
        auto to_come = async([=] { return sized(x, half, depth - 1); });
        b = sized(y, half, depth - 1);
        a = to_come.get();
    }
    }
    return a * 3 + b;
}

class sized_programs : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(all, sized_programs, testing::ValuesIn(policies_under_test));

constexpr int depth = thread_sanitized ? 4 : 6;
const auto programs = static_cast<std::uint64_t>(rounds(thread_sanitized ? 5 : sanitized ? 10 : 20));

TEST_P(sized_programs, on_threads) {
    WEFT_SEEDED;
    for (const int workers : {1, 2, 4, 6}) {
        runtime plain(setup{"serial", 1}.options());
        runtime_options options = setup{GetParam(), workers}.options();
        options.machine = caches;
        runtime rt(options);
        for (std::uint64_t i = 0; i < programs; ++i) {
            SCOPED_TRACE(i);
            const auto program = [&] { return sized(seed + i, 8 * l2, depth); };
            ASSERT_EQ(rt.run(program), plain.run(program));
        }
    }
}

TEST_P(sized_programs, in_the_model) {
    WEFT_SEEDED;
    for (const auto& [domains, cores] : {std::pair{1, 1}, {1, 2}, {2, 1}, {1, 5}, {3, 2}}) {
        const machine on = with_caches(domains, cores);
        modelled plain("serial", on);
        for (std::uint64_t i = 0; i < programs; ++i) {
            SCOPED_TRACE(i);
            modelled model(make_policy(GetParam()), on, i, i % 2 == 0 ? 0 : 1000);
            std::uint64_t got = 0, expected = 0;
            model.run([&] { got = sized(seed + i, 8 * l2, depth); });
            plain.run([&] { expected = sized(seed + i, 8 * l2, depth); });
            ASSERT_EQ(got, expected);
        }
    }
}

} // namespace
} // namespace weft
