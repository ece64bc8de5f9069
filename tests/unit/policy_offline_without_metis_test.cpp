// The policy `offline` in a build without METIS. This program compiles no_partitioner.cpp into itself, whose functions
// take the place of those of the library.
#include "policy/parts/no_partitioner.cpp"

#include <weft/runtime.hpp>
#include <weft/task_group.hpp>

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace weft {
namespace {

int run_under(const std::string& policy) {
    std::array<int, 8> data{};
    runtime r({.workers = 2, .policy = policy});
    r.run([&] {
        task_group g;
        for (int& x : data) g.run([&x] { x = 1; }, {.data_begin = &x, .data_end = &x + 1});
        g.wait();
    });
    int sum = 0;
    for (const int x : data) sum += x;
    return sum;
}

TEST(policy_offline_without_metis, writes_profiles_and_says_what_to_install_if_one_is_to_be_followed) {
    const auto file = std::filesystem::temp_directory_path() / ("weft_offline_" + std::to_string(getpid()));
    std::filesystem::remove(file);
    const std::string policy = "offline:profile=" + file.string();
    EXPECT_EQ(run_under("offline"), 8);
    EXPECT_EQ(run_under(policy), 8);
    EXPECT_TRUE(std::filesystem::exists(file));
    std::string said;
    try {
        run_under(policy);
    } catch (const error& e) { said = e.what(); }
    std::filesystem::remove(file);
    EXPECT_EQ(
        said,
        "a profile can only be followed by a Weft that was built with METIS; given: a build without METIS; "
        "allowed: a build with it (Debian's package libmetis-dev; the CMake option WEFT_METIS=ON), or "
        "profile=none");
}

} // namespace
} // namespace weft
