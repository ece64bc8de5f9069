// The trace table of xitao in a file: what is read back, what is left out, what of other workers stays, and which files are refused.
#include "policy/fake_context.hpp"
#include "policy/parts/kept_trace_table.hpp"
#include "policy/seam/registry.hpp"

#include "machine/load.hpp"
#include "task/task_class.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

namespace weft {
namespace {

class kept_table : public testing::Test {
protected:
    void SetUp() override { named.hint_ = {.name = "sweep"}; }
    void TearDown() override { std::filesystem::remove(file); }
    void write(const std::string& text) { std::ofstream(file) << text; }
    std::string text() const {
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    /// A run of these workers in which `t` takes so long in that place.
    void run(const test::fake_context& on, const task& t, elastic_place at, time_ns took) {
        performance_trace_table table;
        table.attach(m, on, false);
        kept_trace_table kept(file, m, on, table);
        const int type = table.type_of(class_of(t));
        kept.comes(type, t);
        table.update(type, at, took);
    }
    /// What the next run of these workers knows at its begin.
    time_ns known(const test::fake_context& on, const task& t, elastic_place at) {
        performance_trace_table table;
        table.attach(m, on, false);
        const kept_trace_table kept(file, m, on, table);
        return table.time(table.type_of(class_of(t)), at);
    }

    const std::string file =
        (std::filesystem::temp_directory_path() / ("weft_trace_table_" + std::to_string(getpid()))).string();
    const machine m = load_machine(WEFT_SOURCE_DIR "/machines/hikey960.toml");
    const test::fake_context eight{8}, four{4};
    test::task_with_bytes named;
};

TEST_F(kept_table, a_run_begins_with_what_the_last_one_has_measured) {
    EXPECT_EQ(known(eight, named, {4, 2}), 0);
    EXPECT_FALSE(std::filesystem::exists(file)); // no task has come
    run(eight, named, {4, 2}, 100);
    EXPECT_EQ(known(eight, named, {4, 2}), 100);
    EXPECT_EQ(known(eight, named, {4, 4}), 0);
    run(eight, named, {4, 2}, 200);
    EXPECT_EQ(known(eight, named, {4, 2}), 120);
    run(eight, named, {0, 1}, 7);
    EXPECT_EQ(known(eight, named, {4, 2}), 120);
    EXPECT_EQ(known(eight, named, {0, 1}), 7);
}

TEST_F(kept_table, a_type_that_is_an_address_of_code_is_left_out) {
    test::task_with_bytes unnamed, keyed;
    unnamed.call_ = [](void*) {};
    keyed.hint_ = {.key = 5};
    run(eight, unnamed, {0, 1}, 100);
    EXPECT_FALSE(std::filesystem::exists(file));
    run(eight, keyed, {0, 1}, 100);
    EXPECT_EQ(known(eight, keyed, {0, 1}), 100);
    EXPECT_EQ(known(eight, unnamed, {0, 1}), 0);
}

TEST_F(kept_table, what_other_workers_have_measured_stays) {
    run(eight, named, {4, 2}, 100);
    EXPECT_EQ(known(four, named, {0, 1}), 0);
    run(four, named, {0, 1}, 30);
    run(eight, named, {0, 1}, 40);
    EXPECT_EQ(known(eight, named, {4, 2}), 100);
    EXPECT_EQ(known(eight, named, {0, 1}), 40);
    EXPECT_EQ(known(four, named, {0, 1}), 30);
    EXPECT_NE(text().find("of 8 workers, speeds 1 1 1 1 "), std::string::npos) << text();
    EXPECT_NE(text().find("of 4 workers, speeds 1 1 1 1, on modelled " + m.name()), std::string::npos)
        << text();
}

TEST_F(kept_table, a_file_that_is_none_is_an_error_that_shows_the_line) {
    const std::string head = "weft trace table 1\n", of = head + "of 8 workers\n";
    for (const std::string& bad :
         {std::string(), std::string("weft trace table 2\n"), std::string("weft profile 1\n"),
          head + "ff 0 1 100\n", of + "ff 0 1\n", of + "ff 0 3 100\n", of + "ff 0 128 100\n",
          of + "ff -1 1 100\n", of + "ff 0 1 0\n", of + "0 0 1 5\n", of + "ff 0 1 100 7\n",
          of + "xyz 0 1 100\n"}) {
        write(bad);
        try {
            known(eight, named, {0, 1});
            ADD_FAILURE() << "no error: " << bad;
        } catch (const error& e) {
            EXPECT_NE(std::string(e.what()).find(file), std::string::npos) << e.what();
            EXPECT_NE(std::string(e.what()).find("; allowed: 'weft trace table 1'"), std::string::npos)
                << e.what();
        }
        EXPECT_EQ(text(), bad); // it is left as it is
    }
}

TEST_F(kept_table, a_place_that_these_workers_do_not_have_is_an_error) {
    run(four, named, {0, 1}, 30);
    write(text() + "ff 3 2 100\n");
    EXPECT_THROW(known(four, named, {0, 1}), error);
    EXPECT_NO_THROW(known(eight, named, {0, 1})); // it is not about them
}

TEST_F(kept_table, a_file_that_became_another_one_meanwhile_is_not_overwritten) {
    testing::internal::CaptureStderr();
    {
        performance_trace_table table;
        table.attach(m, eight, false);
        kept_trace_table kept(file, m, eight, table);
        kept.comes(table.type_of(class_of(named)), named);
        write("something else\n");
    }
    EXPECT_NE(testing::internal::GetCapturedStderr().find("was not written"), std::string::npos);
    EXPECT_EQ(text(), "something else\n");
}

TEST_F(kept_table, a_policy_without_a_table_has_none_to_keep) {
    EXPECT_THROW(make_policy("xitao:place=random,mold=off,table=" + file), error);
    EXPECT_THROW(make_policy("xitao:place=critical,mold=off,table=" + file), error);
    EXPECT_NO_THROW(make_policy("xitao:place=weight,table=" + file));
}

} // namespace
} // namespace weft
