#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/traced.hpp"
#include "trace/write/log.hpp"
#include "trace/write/modules.hpp"
#include "trace/write/names.hpp"
#include "trace/write/recorder.hpp"

namespace weft::trace {
namespace {

int first_function(int x) { return x + 1; }
int second_function(int x) { return x * 3; }

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

using entry = std::pair<std::string, code_address>;

std::vector<entry> all_of(names& of) {
    std::vector<entry> found;
    of.after(0, [&](std::uint32_t n, const std::string& name, code_address code) {
        EXPECT_EQ(n, found.size() + 1);
        found.emplace_back(name, code);
    });
    return found;
}

TEST(names, a_name_wins_and_keeps_its_first_place) {
    names all;
    EXPECT_EQ(all.number("", 0), 0U);
    EXPECT_EQ(all.number("a", 17), 1U);
    EXPECT_EQ(all.number("a", 18), 1U);
    EXPECT_EQ(all.number("", 17), 2U); // the place alone is another class
    EXPECT_EQ(all.number("", 17), 2U);
    EXPECT_EQ(all.number("", 18), 3U);
    EXPECT_EQ(all.number("b"), 4U);
    EXPECT_EQ(all_of(all), (std::vector<entry>{{"a", 17}, {"", 17}, {"", 18}, {"b", 0}}));
}

TEST(modules, functions_of_one_file_are_as_far_apart_as_in_memory) {
    const code_address a = address_of(first_function), b = address_of(second_function);
    const code_place of_a = place_of(a), of_b = place_of(b);
    EXPECT_EQ(of_a.module, this_program());
    EXPECT_EQ(of_b.module, of_a.module);
    EXPECT_EQ(of_b.build_id, of_a.build_id);
    EXPECT_EQ(of_b.offset - of_a.offset, b - a);
    EXPECT_LT(of_a.offset, std::filesystem::file_size(this_program()));
}

TEST(modules, a_library_is_its_own_file) {
    const code_place of = place_of(address_of(::strtol));
    EXPECT_NE(of.module, this_program());
    EXPECT_TRUE(std::filesystem::is_regular_file(of.module)) << of.module;
}

TEST(modules, an_address_in_no_file_stays_what_it_is) {
    const auto memory = std::make_unique<char[]>(64);
    const auto address = reinterpret_cast<code_address>(memory.get());
    const code_place of = place_of(address);
    EXPECT_EQ(of.module, "");
    EXPECT_EQ(of.build_id, "");
    EXPECT_EQ(of.offset, address);
}

TEST(recorder, writes_each_place_once_and_before_it_is_used) {
    const std::string file = test::trace_path("places");
    {
        recorder r(file, "{}", 2);
        for (int w = 0; w < 2; ++w)
            for (const code_address code : {address_of(first_function), address_of(second_function)}) {
                log& l = r.of(w);
                l.note(kind::spawn, l.new_task(), 0, l.name({}, code));
                l.note(kind::spawn, l.new_task(), 0, l.name("named", code));
            }
    }
    const test::trace_read all(file); // which checks the order
    EXPECT_EQ(all.count(kind::spawn), 8);
    ASSERT_EQ(all.names.size(), 1U);
    ASSERT_EQ(all.places.size(), 3U);
    std::vector<std::uint64_t> offsets;
    for (const auto& [n, place] : all.places) {
        EXPECT_EQ(place.size(), 3U);
        EXPECT_EQ(place.at("module"), this_program());
        EXPECT_EQ(place.at("build_id"), place_of(address_of(first_function)).build_id);
        if (!all.names.contains(n)) offsets.push_back(place.at("offset"));
    }
    const std::vector<std::uint64_t> expected = {place_of(address_of(first_function)).offset,
                                                 place_of(address_of(second_function)).offset};
    EXPECT_EQ(offsets, expected);
    // The name has the place of its first task.
    EXPECT_EQ(all.places.at(all.names.begin()->first).at("offset"), expected[0]);
    std::filesystem::remove(file);
}

} // namespace
} // namespace weft::trace
