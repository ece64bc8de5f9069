// README.md says what the source says: its program is the one that the installation test builds and runs, and
// its table of policies is the registry's list.
#include "policy/seam/registry.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace weft {
namespace {

std::string text_of(const std::string& path) {
    std::ifstream in(std::string(WEFT_SOURCE_DIR) + "/" + path);
    std::stringstream all;
    all << in.rdbuf();
    EXPECT_FALSE(all.str().empty()) << path;
    return all.str();
}

TEST(readme, shows_the_program_that_is_tested) {
    EXPECT_NE(text_of("README.md").find("```cpp\n" + text_of("tests/install/consumer/main.cpp") + "```"),
              std::string::npos);
}

TEST(readme, has_every_policy_in_one_group) {
    const std::string readme = text_of("README.md");
    std::multiset<std::string> linked, known;
    const std::regex link(R"(\[`([a-z-]+)`\]\(docs/policies/([a-z-]+)\.md\))");
    for (std::sregex_iterator at(readme.begin(), readme.end(), link), end; at != end; ++at) {
        EXPECT_EQ((*at)[1].str(), (*at)[2].str()) << "a link to the page of another policy";
        linked.insert((*at)[1]);
    }
    for (const policy_entry& e : policy_list()) known.emplace(e.name);
    EXPECT_EQ(linked, known);
}

TEST(readme, states_the_number_of_policies) {
    const std::string readme = text_of("README.md");
    const std::regex figure(R"((\d+) policies)");
    std::size_t times = 0;
    for (std::sregex_iterator at(readme.begin(), readme.end(), figure), end; at != end; ++at, ++times)
        EXPECT_EQ(std::stoul((*at)[1]), policy_list().size());
    EXPECT_GT(times, 0u);
}

} // namespace
} // namespace weft
