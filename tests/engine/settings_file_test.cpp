// The file that WEFT_SETTINGS names: what it may say, what comes first, and the errors.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include "api/settings_file.hpp"

namespace weft {
namespace {

const std::string file_name = testing::TempDir() + "settings_" + std::to_string(getpid()) + ".toml";

/// A settings file, and WEFT_SETTINGS, which names it.
struct settings_of_process {
    explicit settings_of_process(const std::string& text) {
        std::ofstream(file_name) << text;
        setenv("WEFT_SETTINGS", file_name.c_str(), 1);
    }
    ~settings_of_process() {
        unsetenv("WEFT_SETTINGS");
        std::filesystem::remove(file_name);
    }
    settings_of_process(const settings_of_process&) = delete;
    settings_of_process& operator=(const settings_of_process&) = delete;
};

struct variable_of_process {
    const char* name;
    variable_of_process(const char* n, const char* value) : name(n) { setenv(name, value, 1); }
    ~variable_of_process() { unsetenv(name); }
    variable_of_process(const variable_of_process&) = delete;
    variable_of_process& operator=(const variable_of_process&) = delete;
};

std::string error_of(const runtime_options& o = {}) {
    try {
        runtime rt(o);
    } catch (const error& e) { return e.what(); }
    return "no error";
}

TEST(settings_file, its_settings_are_those_of_the_runtime) {
    const settings_of_process s(
        "version = 1\n[settings]\npolicy = \"near:tries=3\"\nworkers = 3\nstack = \"256K\"\n"
        "[advice]\nanything = [1, 2]\n");
    const runtime rt;
    EXPECT_EQ(rt.policy(), "near:tries=3");
    EXPECT_EQ(rt.workers(), 3);
    EXPECT_EQ(rt.stats().stack_bytes, std::size_t{256} << 10);
}

TEST(settings_file, the_environment_comes_first_and_the_program_before_it) {
    const settings_of_process s("version = 1\n[settings]\npolicy = \"near\"\nworkers = 3\n");
    const variable_of_process policy("WEFT_POLICY", "share");
    EXPECT_EQ(runtime().policy(), "share");
    EXPECT_EQ(runtime().workers(), 3);
    EXPECT_EQ(runtime({.policy = "serial"}).policy(), "serial");
    EXPECT_EQ(runtime({.workers = 2}).workers(), 2);
}

TEST(settings_file, an_empty_variable_comes_not_first) {
    const settings_of_process s("version = 1\n[settings]\npolicy = \"near\"\n");
    const variable_of_process policy("WEFT_POLICY", "");
    EXPECT_EQ(runtime().policy(), "near");
}

struct bad_file {
    const char* text;
    std::vector<std::string> parts;
};

const bad_file bad_files[] = {
    {"", {":1: version: ", "no version", "version = 1"}},
    {"version = 2\n[settings]\npolcy = 1\n", {":1: version: ", "version = 2", "version = 1"}},
    {"version = \"1\"\n[settings]\n", {"no whole number", "version = 1"}},
    {"version = 1\n", {"no settings", "a table [settings]"}},
    {"version = 1\nadvice = 3\n[settings]\n", {":2: advice: wrong type", "a table"}},
    {"version = 1\n[setings]\n", {":2: setings: unknown key", "version, settings, advice"}},
    {"version = 1\n[settings]\npolcy = \"near\"\n",
     {":3: settings.polcy: unknown key", "policy, workers, active"}},
    {"version = 1\n[settings]\ntrace = \"run.weft\"\n", {"settings.trace: unknown key"}},
    {"version = 1\n[settings]\npolicy = 3\n", {":3: settings.policy: wrong type", "given: 3", "a string"}},
    {"version = 1\n[settings]\nworkers = \"many\"\n",
     {":3: settings.workers: wrong type", "\"many\"", "whole"}},
    {"version = 1\n[settings]\nworkers = -1\n", {"settings.workers: out of range", "given: -1"}},
    {"version = 1\n[settings]\nworkers = 5000\n",
     {"number of workers", "given: workers = 5000 in ", "1 to 1024"}},
    {"version = 1\n[settings]\nstack = 1\n", {"given: stack = 1 in ", "K, M or G"}},
    {"version = 1\n[settings]\nspin = \"long\"\n", {"given: spin = long in ", "forever"}},
    {"version = 1\n[settings]\npin = \"diagonal\"\n", {"given: pin = diagonal in ", "compact, scatter, off"}},
    {"version = 1\n[settings]\nactive = 2000\n", {"given: active = 2000 in ", "all, cores"}},
    {"version = 1\n[settings]\npreempt = \"now\"\n", {"given: preempt = now in "}},
    {"version = 1\n[settings]\npolicy = \"teleport\"\n", {"unknown policy", "teleport"}},
    {"version = = 1\n", {":1: not TOML"}},
};

TEST(settings_file, what_makes_no_sense_is_refused) {
    for (const bad_file& bad : bad_files) {
        const settings_of_process s(bad.text);
        const std::string message = error_of();
        for (const std::string& part : bad.parts)
            EXPECT_NE(message.find(part), std::string::npos)
                << part << "\nin: " << message << "\nof: " << bad.text;
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
}

TEST(settings_file, a_file_that_cannot_be_read_is_refused) {
    {
        const variable_of_process file("WEFT_SETTINGS", "/nowhere/at/all.toml");
        EXPECT_EQ(error_of(),
                  "the settings file not found; given: WEFT_SETTINGS=/nowhere/at/all.toml; allowed: a TOML "
                  "file, see docs/advise.md");
    }
    const variable_of_process folder("WEFT_SETTINGS", "/tmp");
    EXPECT_NE(error_of().find("is no file, but a folder"), std::string::npos) << error_of();
}

TEST(settings_file, every_key_has_the_value_of_its_variable) {
    const auto found =
        api::parse_settings("version = 1\n[settings]\nseed = 7\npreempt = \"off\"\nwaiting = 12\n"
                            "stack = 65536\nspin = \"forever\"\npin = \"off\"\nactive = \"all\"\n"
                            "workers = 2\npolicy = \"near\"\n",
                            "a.toml");
    std::string all;
    for (const api::file_setting& s : found) all += std::string(s.of->variable) + "=" + s.value + " ";
    EXPECT_EQ(
        all,
        "WEFT_POLICY=near WEFT_WORKERS=2 WEFT_ACTIVE=all WEFT_PIN=off WEFT_SPIN=forever WEFT_STACK=65536 "
        "WEFT_WAITING=12 WEFT_PREEMPT=off WEFT_SEED=7 ");
    EXPECT_EQ(found.front().given, "policy = near in a.toml");
}

} // namespace
} // namespace weft
