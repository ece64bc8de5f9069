// The file of a profile: what a run keeps of its tasks, and how the file is read.
#include "policy/fake_context.hpp"
#include "policy/parts/sharing_profile.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace weft {
namespace {

using test::task_with_bytes;
using ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

usage took(time_ns self) {
    usage used;
    used.self = self;
    return used;
}

class profile_file : public testing::Test {
protected:
    profile_file() { std::filesystem::remove(file); }
    ~profile_file() override { std::filesystem::remove(file); }

    void write(const std::string& text) const { std::ofstream(file) << text; }
    /// What the error says for a file of that text; empty: it was read.
    std::string refusal(const std::string& text) const {
        write(text);
        try {
            static_cast<void>(read_profile(file));
        } catch (const error& e) { return e.what(); }
        return {};
    }
    static ranges lines_of(const profiled_task& t) {
        ranges found;
        for (const line_range& r : t.lines) found.emplace_back(r.first, r.last);
        return found;
    }

    const std::string file =
        (std::filesystem::temp_directory_path() / ("weft_profile_" + std::to_string(getpid()))).string();
};

TEST_F(profile_file, that_is_not_there_is_no_profile_yet) { EXPECT_EQ(read_profile(file), std::nullopt); }

TEST_F(profile_file, is_read_line_by_line) {
    write("weft profile 1\n1f 250 0-4 10-12\n2 0.5\n");
    const auto tasks = read_profile(file);
    ASSERT_TRUE(tasks);
    ASSERT_EQ(tasks->size(), 2U);
    EXPECT_EQ((*tasks)[0].id, 0x1fU);
    EXPECT_EQ((*tasks)[0].work, 250);
    EXPECT_EQ(lines_of((*tasks)[0]), (ranges{{0, 4}, {10, 12}}));
    EXPECT_EQ((*tasks)[1].work, 0.5);
    EXPECT_TRUE((*tasks)[1].lines.empty());
    write("weft profile 1\n");
    EXPECT_EQ(read_profile(file)->size(), 0U);
}

TEST_F(profile_file, that_is_none_is_refused_with_the_line_that_is_wrong) {
    for (const std::string wrong : {"", "weft profile 2\n1 2\n", "1 2\n"})
        EXPECT_NE(refusal(wrong), "") << wrong;
    for (const std::string line :
         {"x", "1", "1 x", "", "1 2 3", "1 2 3-", "1 2 3-x", "1 2 3+4", "1 2 3-4 x", "1 2 3-4x"}) {
        const std::string said = refusal("weft profile 1\n5 6\n" + line + "\n7 8\n");
        EXPECT_NE(said.find("'" + line + "'"), std::string::npos) << line << " -> " << said;
        EXPECT_NE(said.find(file), std::string::npos) << said;
    }
}

/// What a recorder has kept, as a reader sees it.
class recorded_profile : public profile_file {
protected:
    task_with_bytes& task_of(std::uint64_t id) {
        task_with_bytes& t = *tasks.emplace_back(std::make_unique<task_with_bytes>());
        t.id_ = id;
        return t;
    }
    std::vector<profiled_task> read() const {
        auto tasks_read = read_profile(file);
        EXPECT_TRUE(tasks_read);
        return tasks_read.value_or(std::vector<profiled_task>{});
    }
    std::vector<std::unique_ptr<task_with_bytes>> tasks;
};

TEST_F(recorded_profile, has_the_work_and_the_cache_lines_of_each_task) {
    std::array<data_access, 2> uses{};
    uses[0] = {.datum = 640, .bytes = 64, .mode = 0, .home = -1}; // line 10
    uses[1] = {
        .datum = 6399, .bytes = 2, .mode = 0, .home = -1}; // the last byte of line 99, the first of line 100
    {
        profile_recorder keeper(file);
        task_with_bytes& graph = task_of(0xabcdef0123456789);
        graph.uses_ = uses;
        keeper.keep(graph, took(1234));
        task_with_bytes& hinted = task_of(2);
        hinted.hint_.data_begin = reinterpret_cast<const void*>(std::uintptr_t{128});
        hinted.hint_.data_end = reinterpret_cast<const void*>(std::uintptr_t{129});
        keeper.keep(hinted, took(5));
        EXPECT_FALSE(std::filesystem::exists(file)) << "it writes when it goes";
    }
    const auto all = read();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].id, 2U);
    EXPECT_EQ(all[0].work, 5);
    EXPECT_EQ(lines_of(all[0]), (ranges{{2, 3}}));
    EXPECT_EQ(all[1].id, 0xabcdef0123456789U);
    EXPECT_EQ(all[1].work, 1234);
    EXPECT_EQ(lines_of(all[1]), (ranges{{10, 11}, {99, 101}}));
}

TEST_F(recorded_profile, leaves_out_data_of_no_bytes_and_what_is_too_much_for_one_task) {
    std::array<data_access, 7> uses{};
    for (std::size_t i = 1; i < uses.size(); ++i)
        uses[i] = {.datum = i * 64, .bytes = 1, .mode = 0, .home = -1};
    uses[0] = {.datum = 0, .bytes = 0, .mode = 0, .home = -1};
    {
        profile_recorder keeper(file);
        task_with_bytes& t = task_of(1);
        t.uses_ = uses;
        keeper.keep(t, {});
        task_with_bytes& backwards = task_of(2);
        backwards.hint_.data_begin = reinterpret_cast<const void*>(std::uintptr_t{640});
        backwards.hint_.data_end = reinterpret_cast<const void*>(std::uintptr_t{64});
        keeper.keep(backwards, {});
    }
    const auto all = read();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(lines_of(all[0]), (ranges{{1, 2}, {2, 3}, {3, 4}, {4, 5}}));
    EXPECT_TRUE(all[1].lines.empty());
}

TEST_F(recorded_profile, of_a_run_without_tasks_is_no_file) {
    { const profile_recorder keeper(file); }
    EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(recorded_profile, has_a_task_that_ran_several_times_once) {
    {
        profile_recorder keeper(file);
        for (const time_ns self : {7, 8, 9}) keeper.keep(task_of(3), took(self));
    }
    ASSERT_EQ(read().size(), 1U);
}

TEST_F(recorded_profile, is_kept_by_all_workers_at_once_up_to_its_room) {
    constexpr std::uint64_t each = 30'000; // three times that are more than there is room for
    constexpr std::size_t room = 1 << 16;
    {
        profile_recorder keeper(file);
        std::vector<std::thread> workers;
        for (std::uint64_t w = 0; w < 3; ++w)
            workers.emplace_back([&keeper, w] {
                task_with_bytes t;
                for (std::uint64_t i = 0; i < each; ++i) {
                    t.id_ = w * each + i + 1;
                    keeper.keep(t, took(static_cast<time_ns>(t.id_)));
                }
            });
        for (std::thread& w : workers) w.join();
    }
    const auto all = read();
    EXPECT_EQ(all.size(), room);
    for (const profiled_task& t : all)
        if (static_cast<double>(t.id) != t.work) {
            ADD_FAILURE() << "task " << t.id << " has the work of another one, " << t.work;
            break;
        }
}

TEST_F(profile_file, that_cannot_be_written_ends_no_program) {
    testing::internal::CaptureStderr();
    {
        profile_recorder keeper(file + "/no/such/folder");
        task_with_bytes t;
        t.id_ = 1;
        keeper.keep(t, {});
    }
    EXPECT_NE(testing::internal::GetCapturedStderr().find("cannot be written"), std::string::npos);
}

} // namespace
} // namespace weft
