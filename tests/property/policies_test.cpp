// Every policy, on machines of all shapes: random programs get right results in the model. A task that is
// lost or a wake-up that is missed ends as a deadlock, which the model tells; a task that is run twice
// changes the result. ctest: timeout=240
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/recorded_runs.hpp"
#include "machine/workers.hpp"
#include "policy/seam/registry.hpp"

namespace weft {
namespace {

using namespace test;

/// Sockets of equal numbers of cores, and of unequal ones, which regular machines cannot be.
std::vector<machine> machines() {
    std::vector<machine> list;
    for (const auto& [packages, cores_each] :
         std::initializer_list<std::pair<int, int>>{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {4, 4}, {8, 8}, {3, 5}})
        list.push_back(
            test::cores{.packages = packages, .cores_per_domain = cores_each, .cost = runtime_cost::usual}
                .build());
    const machine large = list.back(); // of 3 x 5
    list.push_back(restrict_to(large, {0, 1, 2, 3, 4, 5, 10, 11}));
    list.push_back(restrict_to(large, {4, 5, 6, 14}));
    return list;
}

std::vector<std::string> names() {
    std::vector<std::string> list;
    for (const policy_entry& e : policy_list()) list.emplace_back(e.name);
    return list;
}

class every_policy : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(all, every_policy, testing::ValuesIn(names()), [](const auto& of) {
    std::string name = of.param;
    std::ranges::replace_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
    return name;
});

TEST_P(every_policy, gets_what_plain_code_gets) {
    WEFT_SEEDED;
    static const std::vector<machine> all = machines();
    static std::map<std::uint64_t, std::uint64_t> right; // by program, of the first policy: serial
    std::uint64_t program = seed;
    for (const machine& on : all) {
        SCOPED_TRACE(on.size());
        modelled model(make_policy(GetParam()), on, program, 1000);
        for (int i = 0; i < 20; ++i, ++program) {
            std::uint64_t sum = 0;
            model.run([&] { sum = play(program); });
            const auto [known, is_new] = right.try_emplace(program, sum);
            if (!is_new) { ASSERT_EQ(sum, known->second) << "program " << program; }
        }
    }
}

} // namespace
} // namespace weft
