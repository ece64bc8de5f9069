// Machines by name: where they are looked for, and what an unknown name is told.
#include "machine/load.hpp"
#include "machine/machine_files.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace weft {
namespace {

namespace fs = std::filesystem;

/// Directories for WEFT_MACHINES.
class machine_names : public testing::Test {
protected:
    machine_names() {
        fs::remove_all(root);
        for (const auto& directory : {first, second}) fs::create_directories(directory);
    }
    ~machine_names() override {
        unsetenv("WEFT_MACHINES");
        fs::remove_all(root);
    }

    static void put(const fs::path& file, const std::string& name) {
        std::ofstream(file) << "name = '" << name << "'\n[regular]\ncores_per_domain = 3\n";
    }
    static std::string message_of(const std::string& spec) {
        try {
            load_machine(spec);
        } catch (const error& e) { return e.what(); }
        return "taken";
    }
    void set() const { setenv("WEFT_MACHINES", (first.string() + "::" + second.string()).c_str(), 1); }

    const fs::path root = fs::path(testing::TempDir()) / "machine_names";
    const fs::path first = root / "first", second = root / "second";
};

TEST_F(machine_names, the_source_tree_has_names) {
    EXPECT_EQ(load_machine("opteron-8380-4x4").packages().size(), 4U);
    EXPECT_EQ(find_machine_file("opteron-8380-4x4"),
              fs::canonical(fs::path(WEFT_SOURCE_DIR) / "machines/opteron-8380-4x4.toml"));
}

TEST_F(machine_names, the_first_directory_wins) {
    put(first / "mine.toml", "the first");
    put(second / "mine.toml", "the second");
    put(second / "opteron-8380-4x4.toml", "not that of the source tree");
    set();
    EXPECT_EQ(load_machine("mine").name(), "the first");
    EXPECT_EQ(load_machine(" mine\n").name(), "the first");
    EXPECT_EQ(load_machine("opteron-8380-4x4").name(), "not that of the source tree");
    const auto all = machine_files();
    EXPECT_EQ(std::ranges::count(all, "mine", &machine_file::name), 1);
    EXPECT_GT(std::ranges::count(all, "hikey960", &machine_file::name), 0);
    EXPECT_TRUE(std::ranges::is_sorted(all, {}, &machine_file::name));
}

TEST_F(machine_names, a_name_finds_no_file_of_the_working_directory) {
    put(root / "here.toml", "here");
    const auto before = fs::current_path();
    fs::current_path(root);
    EXPECT_NE(message_of("here").find("unknown machine"), std::string::npos);
    EXPECT_EQ(load_machine("here.toml").name(), "here");
    EXPECT_EQ(load_machine("./here.toml").name(), "here");
    fs::current_path(before);
}

TEST_F(machine_names, an_unknown_name_is_told_the_nearest_one) {
    put(first / "mine.toml", "mine");
    set();
    const std::string told = message_of("opteron-8380-4x5");
    EXPECT_EQ(
        told.find("unknown machine, did you mean 'opteron-8380-4x4'?; given: 'opteron-8380-4x5'; allowed: "),
        0U)
        << told;
    for (const std::string& word :
         {std::string("mine"), std::string("hikey960"), fs::canonical(first).string()})
        EXPECT_NE(told.find(word), std::string::npos) << told;
    EXPECT_EQ(message_of("quicksilver").find("unknown machine; given: 'quicksilver'"), 0U);
}

TEST_F(machine_names, paths_and_synthetic_strings_are_no_names) {
    for (const char* const path : {"./a", "a.toml", "a.xml", "a/b.toml"}) {
        EXPECT_TRUE(is_machine_path(path)) << path;
        EXPECT_FALSE(is_machine_name(path)) << path;
    }
    for (const char* const synthetic : {"pack:2 core:4", "core:4", "4", "2 4", "[numa] core:2"})
        EXPECT_FALSE(is_machine_path(synthetic) || is_machine_name(synthetic)) << synthetic;
    EXPECT_EQ(load_machine("numa:4 core:8 pu:1").memory_nodes().size(), 4U);
    EXPECT_NE(message_of("./machine.yaml").find("a file ending in .toml or .xml"), std::string::npos);
    EXPECT_EQ(load_machine("this").size(), this_machine().size());
}

} // namespace
} // namespace weft
