// The file that keeps what was measured.
#include "calibrate/calibration.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace weft {
namespace {

namespace fs = std::filesystem;

class kept_calibration : public testing::Test {
protected:
    kept_calibration() { fs::remove_all(root); }
    ~kept_calibration() override { fs::remove_all(root); }

    const fs::path root = fs::path(testing::TempDir()) / "kept_calibration";
    const fs::path file = root / "deep" / "calibration.toml";
    const calibration here{"2026-01-31",
                           "a \"host\"",
                           "AMD \\ EPYC",
                           4,
                           {{"charges.fork_ns", 1.234}, {"cache.L1.latency_ns", 3}}};
};

TEST_F(kept_calibration, is_read_as_it_was_written) {
    EXPECT_FALSE(read_calibration(file, here));
    EXPECT_EQ(write_calibration(file, here), "");
    const auto again = read_calibration(file, here);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->day, here.day);
    EXPECT_EQ(again->values, here.values);
    EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), fs::directory_iterator()), 1)
        << "drafts";
}

TEST_F(kept_calibration, of_another_machine_says_nothing_about_this_one) {
    EXPECT_EQ(write_calibration(file, here), "");
    for (int what = 0; what < 3; ++what) {
        calibration other = here;
        if (what == 0) other.host = "b";
        if (what == 1) other.processor = "c";
        if (what == 2) other.processors = 5;
        EXPECT_FALSE(read_calibration(file, other)) << what;
    }
}

TEST_F(kept_calibration, of_another_version_is_measured_again) {
    EXPECT_EQ(write_calibration(file, here), "");
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    const std::string now = text.str();
    const std::size_t line = now.find("version = 2\n");
    ASSERT_NE(line, std::string::npos);
    for (const std::string other : {"", "version = 3\n"}) {
        std::ofstream(file) << std::string(now).replace(line, 12, other);
        EXPECT_FALSE(read_calibration(file, here)) << other;
    }
    std::ofstream(file) << now;
    EXPECT_TRUE(read_calibration(file, here));
}

TEST_F(kept_calibration, that_is_damaged_is_an_error) {
    EXPECT_EQ(write_calibration(file, here), "");
    std::ofstream(file, std::ios::app) << "\"charges.spawn_ns\" = 'much'\n";
    EXPECT_THROW(read_calibration(file, here), error);
    std::ofstream(file) << "day = ";
    EXPECT_THROW(read_calibration(file, here), error);
}

TEST_F(kept_calibration, that_cannot_be_written_is_told) {
    fs::create_directories(root);
    std::ofstream(root / "deep") << "a file where the directory should be";
    EXPECT_NE(write_calibration(file, here), "");
}

TEST_F(kept_calibration, lies_in_the_cache_directory) {
    setenv("XDG_CACHE_HOME", "/x", 1);
    setenv("HOME", "/h", 1);
    EXPECT_EQ(calibration_file("a/b"), "/x/weft/calibration-a_b.toml");
    setenv("XDG_CACHE_HOME", "relative", 1); // not valid, says its specification
    EXPECT_EQ(calibration_file("a"), "/h/.cache/weft/calibration-a.toml");
    unsetenv("XDG_CACHE_HOME");
    EXPECT_EQ(calibration_file("a"), "/h/.cache/weft/calibration-a.toml");
    unsetenv("HOME");
    EXPECT_EQ(calibration_file("a"), "");
}

} // namespace
} // namespace weft
