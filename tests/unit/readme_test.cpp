// The program in README.md is the one that the installation test builds and runs.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

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

} // namespace
