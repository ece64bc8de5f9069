// The pages about policies say what the code says.
#include "policy/fake_context.hpp"
#include "policy/seam/registry.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace weft {
namespace {

std::string read(const std::string& path) {
    std::ifstream in(std::string(WEFT_SOURCE_DIR) + "/" + path);
    EXPECT_TRUE(in.is_open()) << path;
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(policy_docs, the_example_is_the_tested_code) {
    const std::string marker = "// [example]\n";
    const std::string code = read("tests/policy/example_policy.hpp");
    const std::size_t first = code.find(marker) + marker.size();
    const std::string example = code.substr(first, code.rfind(marker) - first);
    ASSERT_GT(example.size(), 500U);
    EXPECT_NE(read("docs/adding-a-policy.md").find("```cpp\n" + example + "```\n"), std::string::npos)
        << "docs/adding-a-policy.md does not show the lines between the markers of "
           "tests/policy/example_policy.hpp";
}

TEST(policy_docs, every_policy_has_a_page_with_its_knobs) {
    const std::string table = read("docs/policies.md");
    std::size_t last = 0;
    for (const policy_entry& e : policy_list()) {
        const std::string name(e.name);
        const std::size_t in_table = table.find("\n| [`" + name + "`](policies/" + name + ".md) |");
        EXPECT_NE(in_table, std::string::npos) << name << " is not in the table";
        EXPECT_GT(in_table, last) << name << ": the table has another order than the registry";
        last = in_table;
        const std::string section = read("docs/policies/" + name + ".md");
        EXPECT_TRUE(section.starts_with("# `" + name + "`\n")) << name;
        if (e.knobs.empty()) { EXPECT_NE(section.find("No knobs."), std::string::npos) << name; }
        std::size_t rows = 0;
        for (std::size_t at = 0; (at = section.find("\n| `", at)) != std::string::npos; ++at) ++rows;
        EXPECT_EQ(rows, e.knobs.size()) << name;
        for (const knob& k : e.knobs) {
            const std::string row = "\n| `" + std::string(k.key) + "` | " + std::string(k.allowed) + " | " +
                                    std::string(k.default_value) + " | ";
            EXPECT_NE(section.find(row), std::string::npos) << name << " lacks the row" << row;
        }
    }
}

/// The figures of "What an order costs in memory".
TEST(policy_docs, pending_tasks_of_a_full_binary_tree) {
    constexpr std::size_t levels = 12;
    test::tree_walk::tree tree((std::size_t{2} << levels) - 1);
    for (std::size_t i = 0; 2 * i + 2 < tree.size(); ++i) {
        tree[i] = {static_cast<int>(2 * i + 1), static_cast<int>(2 * i + 2)};
    }
    const auto most_pending = [&](const char* spec) {
        test::fake_context context(1);
        const auto p = make_policy(spec);
        p->attach(machine(), context);
        test::tree_walk walk(tree);
        EXPECT_EQ(walk.run(*p).size(), 8191U);
        return walk.most_pending();
    };
    EXPECT_EQ(most_pending("steal:zone=reported"), 12);
    EXPECT_EQ(most_pending("steal-parent-first"), 13);
    EXPECT_EQ(most_pending("share:order=lifo"), 13);
    EXPECT_EQ(most_pending("steal-parent-first:order=fifo"), 4096);
    EXPECT_EQ(most_pending("share"), 4096);
}

} // namespace
} // namespace weft
