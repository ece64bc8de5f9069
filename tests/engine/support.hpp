#pragma once

#include <weft/join.hpp>
#include <weft/runtime.hpp>

#include "engine/sanitized.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// What the tests of the engine share.
namespace weft::test {

/// Reads a variable and removes it, since a runtime refuses WEFT_ variables that it does not know.
inline std::optional<std::string> take_variable(const char* name) {
    const char* const value = std::getenv(name);
    if (!value) return std::nullopt;
    std::string text(value);
    unsetenv(name);
    return text;
}

/// WEFT_TEST_SEED, or a new one in each run of the executable.
inline const std::uint64_t seed = [] {
    const auto given = take_variable("WEFT_TEST_SEED");
    return given ? std::stoull(*given) : std::uint64_t{std::random_device{}()};
}();

/// Prints the seed before the first test: a deadlock ends the executable without a failed assertion.
struct seed_printer : testing::Environment {
    void SetUp() override {
        std::printf("WEFT_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
        std::fflush(stdout);
    }
};
inline testing::Environment* const prints_seed = testing::AddGlobalTestEnvironment(new seed_printer);

/// Belongs in each test that draws random numbers: a failure names the seed.
#define WEFT_SEEDED SCOPED_TRACE("WEFT_TEST_SEED=" + std::to_string(::weft::test::seed))

/// WEFT_TEST_ROUNDS: the factor on the number of rounds of tests that meet their case by chance. It is 1 in
/// the suite; scripts/stress sets it.
inline const int more_rounds = [] {
    const auto given = take_variable("WEFT_TEST_ROUNDS");
    return given ? std::max(std::stoi(*given), 1) : 1;
}();

/// The number of rounds of a test that meets its case by chance: `few` in the suite, WEFT_TEST_ROUNDS times
/// as many in the stress tests.
inline int rounds(int few) { return few * more_rounds; }

struct setup {
    std::string policy;
    int workers = 1;

    runtime_options options() const {
        runtime_options o;
        o.policy = policy;
        o.workers = workers;
        o.seed = seed;
        o.pin = "off";
        return o;
    }
    friend std::ostream& operator<<(std::ostream& out, const setup& s) {
        return out << s.policy << " with " << s.workers << " workers";
    }
};

// clang-format off
inline const std::vector<std::string> all_policies = {
    "serial",
    "steal",
    "steal:zone=reported",
    "steal-parent-first",
    "steal-parent-first:order=fifo",
    "share",
    "near",
    "locality",
    "socket",
    "slaw",
    "mts",
    "pws",
    "hws",
    "hws:l=2,leader=helps",
    "pdf",
    "cpdf",
    "cpdf:l1=4000,l2=100000",
    "cab",
    "cab:socket=1,boundary=2",
    "cab:socket=2,boundary=3",
    "cab:socket=2,boundary=2,zone=reported",
    "cab:socket=2,mode=gto",
    "cab:socket=2,mode=profile,alloc=even",
    "static",
    "static:pieces=3",
    "dynamic",
    "dynamic:pieces=1",
    "constrained",
    "laws",
    "laws-nc",
    "adws",
    "adws:zone=reported",
    "ml-adws",
    "ml-steal",
    "ml-steal:zone=reported",
    "sb",
    "sb:zone=reported",
    "random-push",
    "chs",
    "cls",
    "crs",
    "tatl",
    "offline",
    "numalb",
    "packing",
    "insitu",
    "snatch",
    "snatch:zone=reported",
    "camp",
    "bias",
    "ljfcf",
    "speed",
    "xitao",
    "xitao:place=random,mold=off",
    "xitao:place=critical,mold=off,steal=off",
    "xitao:place=weight",
    "cats",
    "heft",
    "dheft",
    "aats",
    "aats:mode=pipeline",
    "optimal",
    "hybrid",
    "auto:of=share+adws+near,memory=off",
};

/// Settings of a policy whose other setting in `all_policies` takes the same paths of the runtime: they differ in numbers, or
/// in a choice that the policy makes by itself. Conformance, random programs and the tests of the policy take them.
inline const std::vector<std::string> near_twins = {
    "hws:l=2,leader=helps",
    "cpdf:l1=4000,l2=100000",
    "cab:socket=1,boundary=2",
    "cab:socket=2,boundary=3",
    "cab:socket=2,mode=profile,alloc=even",
    "static:pieces=3",
    "dynamic:pieces=1",
    "adws:zone=reported",
    "ml-steal:zone=reported",
    "sb:zone=reported",
    "snatch:zone=reported",
    "xitao:place=random,mold=off",
    "xitao:place=weight",
    "aats:mode=pipeline",
};

inline std::vector<std::string> without_near_twins() {
    std::vector<std::string> list = all_policies;
    std::erase_if(list, [](const std::string& p) {
        return std::find(near_twins.begin(), near_twins.end(), p) != near_twins.end();
    });
    return list;
}

/// A policy of each kind: between them they take the runtime's paths (order of spawning, places of tasks, stealing, sharing, zones).
inline const std::vector<std::string> one_of_each_kind = {
    "steal", "steal:zone=reported", "steal-parent-first", "share", "cab", "static", "laws", "adws",
};

/// What a test goes through: `always` and a third of the others, by the name of the test program, so that the suite as a whole has all. A
/// sanitizer sees the same accesses of the runtime under all policies of a kind, so under one there are no others. In the stress
/// tests it is all of them.
inline std::vector<std::string> in_turn(std::vector<std::string> always, const std::vector<std::string>& all) {
    if (more_rounds > 1) return all;
    if (sanitized) return always;
    const auto is_always = [known = always](const std::string& p) {
        return std::find(known.begin(), known.end(), p) != known.end();
    };
    const std::size_t turn = std::hash<std::string_view>()(program_invocation_short_name) % 3;
    std::size_t others = 0;
    for (const std::string& p : all)
        if (!is_always(p) && others++ % 3 == turn) always.push_back(p);
    return always;
}

/// The policies of most tests. Conformance and random programs always take all.
inline const std::vector<std::string> policies_of_suite =
    in_turn(one_of_each_kind, more_rounds > 1 ? all_policies : without_near_twins());

inline std::vector<std::string> of_suite(std::vector<std::string> policies) {
    std::erase_if(policies, [](const std::string& p) {
        return std::find(policies_of_suite.begin(), policies_of_suite.end(), p) == policies_of_suite.end();
    });
    return policies;
}

/// Those of the suite under which an idle worker gets the second half of a join while the first still runs.
inline const std::vector<std::string> parallel_policies = of_suite({
    "steal",
    "steal:zone=reported",
    "steal-parent-first",
    "steal-parent-first:order=fifo",
    "share",
    "near",
    "socket",
    "slaw",
    "mts",
    "pws",
    "pdf",
    "cab",
    "static",
    "dynamic",
    "constrained",
    "laws",
    "laws-nc",
    "ml-steal",
    "sb",
    "offline",
    "insitu",
});
// clang-format on

/// The numbers of workers in tests that go through every policy.
inline const std::vector<int> worker_counts = sanitized ? std::vector{2} : std::vector{1, 2, 4};

inline std::vector<setup> setups(const std::vector<std::string>& policies, const std::vector<int>& workers) {
    std::vector<setup> all;
    for (const auto& p : policies)
        for (const int w : workers) all.push_back({p, w});
    return all;
}

/// Each policy with one of the numbers of workers above 1, in turn, and every third policy with one worker as
/// well; in the stress tests each policy with all numbers. For tests that depend on the policy and on the number
/// of workers, but hardly on the pair.
inline std::vector<setup> setups_in_turn(const std::vector<std::string>& policies,
                                         const std::vector<int>& workers) {
    if (more_rounds > 1) return setups(policies, workers);
    std::vector<int> several = workers;
    const bool alone = std::erase(several, 1) > 0;
    std::vector<setup> all;
    for (std::size_t i = 0; i < policies.size(); ++i) {
        all.push_back({policies[i], several[i % several.size()]});
        // Under ThreadSanitizer one worker alone shows little.
        if (alone && i % (thread_sanitized ? 12 : 3) == 0) all.push_back({policies[i], 1});
    }
    return all;
}

struct setup_name {
    template <class Info>
    std::string operator()(const Info& info) const {
        std::string name = info.param.policy + "_" + std::to_string(info.param.workers);
        for (char& c : name)
            if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
        return name;
    }
};

/// Forks with hardly any other work.
inline int fib(int n) {
    if (n < 2) return n;
    const auto [a, b] = join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

/// Busy-waits until another thread has made `condition` true. False after half a minute.
template <std::predicate Condition>
[[nodiscard]] bool await(Condition&& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (int looks = 0; !condition(); ++looks) {
        if (looks % 64 != 63) continue;
        std::this_thread::yield();
        if (std::chrono::steady_clock::now() > until) return false;
    }
    return true;
}

[[nodiscard]] inline bool await(const std::atomic<bool>& flag) {
    return await([&] { return flag.load(std::memory_order_acquire); });
}

/// Counts the objects of a kind: each one that is constructed is destroyed, and none is destroyed twice.
struct lives {
    std::atomic<int> born{0}, dead{0}, misused{0};

    int alive() const { return born.load() - dead.load(); }
};

class tracked {
public:
    explicit tracked(lives& of, int number = 0) : of_(&of), value(number) { ++of_->born; }
    tracked(const tracked& other) : of_(other.checked()), value(other.value) { ++of_->born; }
    tracked(tracked&& other) noexcept : of_(other.checked()), value(std::exchange(other.value, -1)) {
        ++of_->born;
    }
    tracked& operator=(const tracked&) = delete;
    ~tracked() {
        checked();
        mark_ = 0;
        ++of_->dead;
    }

private:
    static constexpr std::uint32_t living = 0x5eed'11fe;

    lives* checked() const {
        if (mark_ != living) ++of_->misused;
        return of_;
    }

    lives* of_;
    std::uint32_t mark_ = living;

public:
    int value;
};

/// Expects that objects were constructed and that all of them have been destroyed.
inline void expect_all_dead(const lives& l) {
    EXPECT_GT(l.born.load(), 0);
    EXPECT_EQ(l.alive(), 0);
    EXPECT_EQ(l.misused.load(), 0);
}

/// An exception with a number.
struct failure {
    int number;
};

/// The number of the failure that `f` throws; -1 if it throws none.
template <class F>
int failure_of(F&& f) {
    try {
        f();
    } catch (const failure& e) { return e.number; }
    return -1;
}

} // namespace weft::test
