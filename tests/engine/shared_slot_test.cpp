// ctest: labels=concurrent
// A runtime with a slot in the table of the programs on this machine (WEFT_SHARE): what it publishes, what it does as the
// table wishes, and that no table can disturb it.
#include "share/process_clock.hpp"
#include "share/table.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace weft {
namespace {

using share::reading;

class shared_slots : public testing::Test {
protected:
    shared_slots()
        : path_(testing::TempDir() + "weft_shared_slots_" + std::to_string(getpid()))
        , table_(share::table::create(path_, 2, 2'000'000)) {
        setenv("WEFT_SHARE", table_.prepare(1, geteuid()).c_str(), 1);
    }
    ~shared_slots() override {
        unsetenv("WEFT_SHARE");
        std::filesystem::remove_all(path_);
    }

    share::slot_reading look() { return table_.read(1, share::monotonic_ns(), 3'600'000'000'000); }
    /// A limit, not an expectation.
    static bool wait_until(const std::function<bool()>& holds) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!holds()) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return true;
    }
    void wish(int active) {
        table_.publish({.generation = 1, .programs = {{.slot = 1, .pid = getpid(), .active = active}}});
    }
    static std::string refusal() {
        try {
            runtime rt({.workers = 2});
        } catch (const error& e) { return e.what(); }
        return "accepted";
    }

    std::string path_;
    share::table table_;
};

TEST_F(shared_slots, a_runtime_publishes_what_its_workers_have_done) {
    {
        runtime rt({.workers = 2, .policy = "steal"});
        std::vector<char> data(1000);
        rt.run([&] {
            task_group children;
            for (int i = 0; i < 100; ++i)
                children.run([&] { touch(data.data(), data.size(), access::read); });
            children.wait();
        });
        ASSERT_TRUE(wait_until([&] { return look().numbers.bytes == 100 * 1000; }));
        const auto seen = look();
        EXPECT_EQ(seen.state, reading::fresh) << seen.why;
        EXPECT_EQ(seen.numbers.pid, getpid());
        EXPECT_EQ(seen.numbers.start, share::start_ticks());
        EXPECT_EQ(seen.numbers.workers, 2);
        EXPECT_EQ(seen.numbers.active, 2);
        EXPECT_GE(seen.numbers.tasks, 1);
        EXPECT_EQ(seen.numbers.misses, -1) << "not counted";
        EXPECT_GT(seen.numbers.processor, 0);
        const std::int64_t then = seen.numbers.published;
        EXPECT_TRUE(wait_until([&] { return look().numbers.published > then; }));
    }
    EXPECT_EQ(look().state, reading::over);
}

TEST_F(shared_slots, as_many_workers_are_active_as_the_table_wishes) {
    runtime rt({.workers = 4, .policy = "steal"});
    wish(1);
    EXPECT_TRUE(wait_until([&] { return rt.active_workers() == 1; }));
    EXPECT_TRUE(wait_until([&] { return look().numbers.active == 1; }));
    wish(3);
    EXPECT_TRUE(wait_until([&] { return rt.active_workers() == 3; }));
    wish(1000);
    EXPECT_TRUE(wait_until([&] { return rt.active_workers() == 4; })) << "it has no more";
    wish(2);
    EXPECT_TRUE(wait_until([&] { return rt.active_workers() == 2; }));
    wish(0);
    EXPECT_TRUE(wait_until([&] { return rt.active_workers() == 4; })) << "nothing is wished";
}

TEST_F(shared_slots, all_workers_are_active_again_when_the_daemon_is_gone) {
    runtime rt({.workers = 4, .policy = "steal"});
    wish(1);
    ASSERT_TRUE(wait_until([&] { return rt.active_workers() == 1; }));
    table_.close();
    EXPECT_TRUE(wait_until([&] { return rt.active_workers() == 4; }));
}

TEST_F(shared_slots, what_the_program_chooses_comes_first) {
    runtime rt({.workers = 4, .policy = "steal"});
    rt.set_active_workers(2);
    wish(1);
    const auto then = share::monotonic_ns();
    ASSERT_TRUE(wait_until([&] { return look().numbers.published > then; }));
    const auto later = share::monotonic_ns(); // the wish was read between two publications
    ASSERT_TRUE(wait_until([&] { return look().numbers.published > later; }));
    EXPECT_EQ(rt.active_workers(), 2);
}

TEST_F(shared_slots, one_runtime_has_the_slot) {
    runtime first({.workers = 1});
    {
        runtime second({.workers = 2});
        second.run([] {});
    }
    EXPECT_TRUE(wait_until([&] { return look().state == reading::fresh; }));
    EXPECT_EQ(look().numbers.workers, 1);
}

TEST_F(shared_slots, a_removed_table_disturbs_nothing) {
    runtime rt({.workers = 2});
    table_.remove();
    int sum = 0;
    rt.run([&] { sum = 1; });
    EXPECT_EQ(sum, 1);
}

TEST_F(shared_slots, a_program_that_comes_when_the_daemon_has_gone_runs_without) {
    table_.remove();
    runtime rt({.workers = 2});
    int sum = 0;
    rt.run([&] { sum = 1; });
    EXPECT_EQ(sum, 1);
    EXPECT_EQ(rt.active_workers(), 2);
}

TEST_F(shared_slots, a_wrong_variable_is_refused) {
    setenv("WEFT_SHARE", (path_ + ":7").c_str(), 1);
    EXPECT_NE(refusal().find("the table has 2 slots"), std::string::npos) << refusal();
    setenv("WEFT_SHARE", "/dev/null:0", 1);
    EXPECT_NE(refusal().find("WEFT_SHARE=/dev/null:0"), std::string::npos) << refusal();
    setenv("WEFT_SHARE", "1", 1);
    EXPECT_NE(refusal().find("allowed"), std::string::npos) << refusal();
}

} // namespace
} // namespace weft
