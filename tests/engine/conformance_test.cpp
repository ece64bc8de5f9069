// ctest: labels=slow
//
// The decisions of a policy follow from what it is told, whichever engine tells it: a run of either engine is
// recorded and then replayed, without an engine, to a fresh object of the same policy. Every registered
// policy is tested without being named here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/recorded_runs.hpp"
#include "engine/sanitized.hpp"
#include "policy/replay.hpp"
#include "policy/seam/registry.hpp"

namespace weft {
namespace {

using namespace test;

std::ptrdiff_t count(const recording& list, hook h) {
    return std::count_if(list.begin(), list.end(), [&](const event& e) { return e.what == h; });
}

std::vector<std::string> every_policy() {
    std::vector<std::string> specs;
    for (const policy_entry& e : policy_list()) specs.emplace_back(e.name);
    // clang-format off
    for (const char* variant : {
             "steal:zone=reported",
             "steal-parent-first:order=fifo",
             "share:order=lifo",
             "near:tries=1",
             "slaw:stack=2,fresh=3,interval=2,tries=1",
             "mts:spawn=child-first,probe=nearest",
             "pws:across=10",
             "hws:l=2,leader=helps,attempts=1",
             "cpdf:l1=1,l2=2",
             "cab:boundary=3",
             "cab:boundary=3,zone=reported",
             "cab:mode=gto",
             "cab:mode=profile",
             "cab:mode=profile,cmpi=0",
             "cab:mode=profile,alloc=even,cmpi=0",
             "static:pieces=3",
             "dynamic:pieces=1",
             "constrained:relaxed=0",
             "constrained:relaxed=1",
             "chaos:hold=50,blind=50,of=cab:boundary=3",
             "laws:cmpi=0",
             "laws:bytes=1000000,cache=64",
             "laws:tasks=64,tune=off,cmpi=0",
             "adws:steal=off",
             "adws:hints=learned",
             "adws:zone=reported",
             "ml-adws:zone=reported",
             "ml-adws:hints=learned,steal=off",
             "ml-steal:zone=reported",
             "chaos:hold=50,blind=50,of=ml-steal",
             "sb:sigma=100,mu=100",
             "sb:zone=reported",
             "laws:zone=reported",
             "laws:zone=reported,cmpi=0",
             "laws:order=near,keep=on,cmpi=0",
             "laws-nc:zone=reported",
             "laws-nc:pieces=8",
             "near:zone=reported",
             "cab:keep=on",
             "cab:order=oldest,probe=turn",
             "chaos:hold=50,blind=50,of=sb",
             "aats:mode=pipeline",
             "aats:np=on",
             "aats:ts=on",
             "aats:mode=pipeline,ts=on",
             "aats:guard=on",
             "aats:order=class",
             "optimal:allocate=finish",
             "random-push:threshold=0,in_flight=1",
             "cls:threshold=4,interval=1",
             "chs:arity=1",
             "tatl:capacity=1,push=0,pop=0",
             "chaos:hold=50,blind=50,of=crs",
             "chaos:hold=50,blind=50,of=share",
             "auto:of=share+adws+near+static+hybrid,share=50",
             "chaos:hold=50,blind=50,of=steal:zone=reported",
         })
        specs.emplace_back(variant);
    // clang-format on
    return specs;
}

class conformance : public testing::TestWithParam<std::string> {
protected:
    void expect_the_same(const recording& list, const machine& on, const std::string& where) {
        EXPECT_EQ(replay(list, *make_policy(GetParam()), on), std::nullopt) << where;
        EXPECT_EQ(count(list, hook::started), count(list, hook::finished)) << where;
        EXPECT_EQ(count(list, hook::blocked), count(list, hook::resumed)) << where;
        events_ += list.size();
        offers_ += count(list, hook::ready);
        blocks_ += count(list, hook::blocked);
    }
    void TearDown() override { // there was something to replay
        if (IsSkipped()) return;
        EXPECT_GT(offers_, 20);
        EXPECT_GT(blocks_, 0);
        RecordProperty("events", std::to_string(events_));
    }

private:
    std::size_t events_ = 0;
    std::ptrdiff_t offers_ = 0, blocks_ = 0;
};

INSTANTIATE_TEST_SUITE_P(all, conformance, testing::ValuesIn(every_policy()), [](const auto& of) {
    std::string name = of.param;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
    return name;
});

TEST_P(conformance, of_what_the_model_engine_tells) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    for (std::uint64_t seed = 1; seed <= programs(); ++seed)
        for (const machine* on : {&four_cores, &sixteen_cores}) {
            if (test::sanitized && on == &sixteen_cores) continue;
            expect_the_same(record_in_model(make_policy(GetParam()), *on, seed), *on,
                            std::to_string(on->size()) + " workers, program " + std::to_string(seed));
        }
}

/// Policies that do something else where cores are unequal.
bool knows_unequal_cores(const std::string& spec) {
    constexpr std::string_view families[] = {"aats",  "acs",     "auto",   "bias",  "bis",
                                             "camp",  "cats",    "dheft",  "heft",  "hybrid",
                                             "ljfcf", "optimal", "snatch", "speed", "xitao"};
    return std::any_of(std::begin(families), std::end(families),
                       [&](std::string_view family) { return spec.starts_with(family); });
}

bool is_modelled_only(const std::string& spec) {
    const auto list = policy_list();
    return std::any_of(list.begin(), list.end(),
                       [&](const policy_entry& e) { return e.name == spec && e.modelled_only; });
}

TEST_P(conformance, on_unequal_cores) {
    if (!knows_unequal_cores(GetParam())) GTEST_SKIP() << "all cores are alike to it";
    if (test::thread_sanitized && is_modelled_only(GetParam())) GTEST_SKIP() << "virtual time";
    for (std::uint64_t seed = 1; seed <= programs(); ++seed) {
        if (!test::thread_sanitized)
            expect_the_same(record_in_model(make_policy(GetParam()), unequal_cores, seed), unequal_cores,
                            "model, program " + std::to_string(seed));
        if (!is_modelled_only(GetParam()))
            expect_the_same(record_in_threads(make_policy(GetParam()), seed, unequal_cores), unequal_cores,
                            "threads, program " + std::to_string(seed));
    }
}

TEST_P(conformance, of_what_the_threads_engine_tells) {
    if (is_modelled_only(GetParam())) GTEST_SKIP() << "threads refuse it";
    for (std::uint64_t seed = 1; seed <= programs(); ++seed)
        expect_the_same(record_in_threads(make_policy(GetParam()), seed), four_cores,
                        "program " + std::to_string(seed));
}

} // namespace
} // namespace weft
