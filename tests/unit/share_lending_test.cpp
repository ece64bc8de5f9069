// The directory of programs that lend cores: what a program sees of others that run, end, are killed at any instant, or write what
// they should not. Programs are child processes.
#include "share/lending_board.hpp"
#include "share/process_clock.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::share {
namespace {

namespace fs = std::filesystem;

/// A child process that runs a function, says by a byte that it is ready, and lives until it is killed.
class other_program {
public:
    explicit other_program(const std::function<void()>& does) {
        int ready[2];
        if (pipe(ready) != 0) std::abort();
        pid_ = fork();
        if (pid_ == 0) {
            does();
            const char byte = 0;
            if (write(ready[1], &byte, 1) != 1) _exit(1);
            for (;;) pause();
        }
        close(ready[1]);
        char byte = 0;
        is_ready_ = read(ready[0], &byte, 1) == 1;
        close(ready[0]);
    }
    ~other_program() { kill_now(); }
    other_program(const other_program&) = delete;
    other_program& operator=(const other_program&) = delete;

    bool is_ready() const { return is_ready_; }
    pid_t pid() const { return pid_; }
    void kill_now() {
        if (pid_ <= 0) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

private:
    pid_t pid_ = 0;
    bool is_ready_ = false;
};

class lending_boards : public testing::Test {
protected:
    lending_boards() {
        static int number = 0;
        path = testing::TempDir() + "weft_lend_" + std::to_string(getpid()) + "_" + std::to_string(number++);
    }
    ~lending_boards() override { fs::remove_all(path); }

    std::optional<lending_board> joined(int workers = 2, int guests = 2) const {
        return lending_board::join(path, workers, guests);
    }
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& e : fs::directory_iterator(path)) names.push_back(e.path().filename());
        return names;
    }
    std::string refusal(const std::function<void()>& f) const {
        try {
            f();
        } catch (const error& e) { return e.what(); }
        return "accepted";
    }
    /// As another program that lends core 5 and claims core 6. Never comes back.
    std::function<void()> lends_5_and_claims_6(std::int64_t lender = 1) const {
        return [this, lender] {
            static std::optional<lending_board> board;
            board.emplace(*joined());
            board->set_home(0, {.cpu = 5, .is_lent = true, .generation = 3});
            board->set_claim(1, {.cpu = 6, .lender = lender, .generation = 9});
        };
    }

    std::string path;
};

TEST_F(lending_boards, a_program_sees_what_others_lend_and_claim) {
    auto board = joined();
    ASSERT_TRUE(board);
    EXPECT_EQ(files().size(), 1u);
    const other_program other(lends_5_and_claims_6(77));
    ASSERT_TRUE(other.is_ready());
    board->look();
    ASSERT_EQ(board->peers().size(), 1u);
    EXPECT_EQ(board->peers()[0].head.pid, other.pid());
    EXPECT_EQ(board->peers()[0].home(0), (home_word{.cpu = 5, .is_lent = true, .generation = 3}));
    EXPECT_EQ(board->peers()[0].claim(1), (claim_word{.cpu = 6, .lender = 77, .generation = 9}));
    EXPECT_EQ(board->core(5), (lent_core{.lender = other.pid(), .generation = 3}));
    EXPECT_FALSE(board->core(6).is_lent());
    EXPECT_FALSE(board->core(-1).is_lent());
    EXPECT_FALSE(board->core(most_cpus).is_lent());
    EXPECT_EQ(board->rivals_for(5), rivals::none);
    EXPECT_EQ(board->rivals_for(6), rivals::later)
        << "the child's number is the greater one, or numbers began anew";
}

TEST_F(lending_boards, of_two_programs_the_one_that_started_with_the_lower_number_comes_first) {
    const other_program first(lends_5_and_claims_6());
    const other_program second([&] {
        auto board = joined();
        const bool before = getpid() < first.pid();
        if (board->rivals_for(6) != (before ? rivals::later : rivals::earlier)) _exit(1);
        board.reset();
    });
    EXPECT_TRUE(second.is_ready());
}

TEST_F(lending_boards, a_core_on_which_another_program_is_awake_is_lent_by_none) {
    auto board = joined();
    const other_program lends(lends_5_and_claims_6());
    const other_program works([&] {
        static std::optional<lending_board> own;
        own.emplace(*joined());
        own->set_home(1, {.cpu = 5, .is_lent = false, .generation = 1});
    });
    ASSERT_TRUE(lends.is_ready() && works.is_ready());
    board->look();
    EXPECT_EQ(board->peers().size(), 2u);
    EXPECT_FALSE(board->core(5).is_lent());
}

// Z4 of share/README.md.
TEST_F(lending_boards, a_killed_program_lends_and_claims_nothing_and_leaves_no_file) {
    auto board = joined();
    other_program other(lends_5_and_claims_6());
    ASSERT_TRUE(other.is_ready());
    board->look();
    ASSERT_TRUE(board->core(5).is_lent());
    ASSERT_NE(board->rivals_for(6), rivals::none);
    other.kill_now();
    EXPECT_EQ(board->rivals_for(6), rivals::none) << "at once, before the next look";
    board->look();
    EXPECT_FALSE(board->core(5).is_lent());
    EXPECT_TRUE(board->peers().empty());
    EXPECT_EQ(files().size(), 1u);
}

TEST_F(lending_boards, what_programs_of_the_past_have_left_is_removed_by_the_next_one) {
    other_program other(lends_5_and_claims_6());
    ASSERT_TRUE(other.is_ready());
    const std::string left = files().at(0);
    other.kill_now();
    std::ofstream(path + "/" + left + ".new") << "half";
    std::ofstream(path + "/4194304-1") << "";
    ASSERT_EQ(files().size(), 3u);
    auto board = joined();
    EXPECT_EQ(files().size(), 1u);
    board.reset();
    EXPECT_TRUE(files().empty()) << "a program takes its file with it";
}

TEST_F(lending_boards, a_program_with_the_number_of_a_dead_one_is_another_one) {
    // As if a process that lives now had the number of one that has ended: the start tells them apart.
    auto board = joined();
    const std::string of_the_dead = std::to_string(getppid()) + "-1";
    fs::copy_file(path + "/" + files().at(0), path + "/" + of_the_dead);
    board->look();
    EXPECT_TRUE(board->peers().empty());
    EXPECT_FALSE(fs::exists(path + "/" + of_the_dead));
}

TEST_F(lending_boards, one_runtime_of_a_process_is_on_a_board) {
    {
        auto first = joined();
        EXPECT_TRUE(first && lending_board::is_joined());
        EXPECT_FALSE(joined());
        const other_program child([] {
            if (lending_board::is_joined()) _exit(1);
        });
        EXPECT_TRUE(child.is_ready()) << "a child of fork() is on none";
    }
    EXPECT_FALSE(lending_board::is_joined());
    EXPECT_TRUE(joined());
}

TEST_F(lending_boards, the_child_of_a_fork_does_not_remove_its_parents_file) {
    auto board = joined();
    const other_program child([&] { board.reset(); });
    EXPECT_TRUE(child.is_ready());
    EXPECT_EQ(files().size(), 1u);
}

// Z5 of share/README.md.
TEST_F(lending_boards, no_content_of_another_file_makes_a_look_fail) {
    auto board = joined();
    const other_program other(lends_5_and_claims_6());
    ASSERT_TRUE(other.is_ready());
    std::string name;
    for (const std::string& f : files())
        if (f.starts_with(std::to_string(other.pid()))) name = path + "/" + f;
    ASSERT_FALSE(name.empty());
    std::mt19937_64 random(1);
    const auto whole = static_cast<long>(fs::file_size(name));
    for (int i = 0; i < 2000; ++i) {
        {
            std::fstream f(name, std::ios::in | std::ios::out | std::ios::binary);
            f.seekp(static_cast<long>(random() % static_cast<std::uint64_t>(whole)));
            f.put(static_cast<char>(random()));
        }
        if (i % 100 == 99) fs::resize_file(name, random() % static_cast<std::uint64_t>(whole));
        if (i % 10 == 0) { // a program that sees the file for the first time
            lending_board reader = lending_board::watch(path);
            EXPECT_LE(reader.peers().size(), 2u);
        }
        board->look();
        for (int cpu = 0; cpu < most_cpus; cpu += 100) static_cast<void>(board->rivals_for(cpu));
        if (i % 100 == 99) fs::resize_file(name, static_cast<std::uintmax_t>(whole));
    }
    // Not regular files, and one with another's name.
    mkfifo((path + "/1-1").c_str(), 0600);
    fs::create_symlink(name, path + "/" + std::to_string(getppid()) + "-" +
                                 std::to_string(start_ticks_of(getppid())));
    fs::create_directory(path + "/x");
    lending_board reader = lending_board::watch(path);
    board->look();
}

TEST_F(lending_boards, a_directory_of_others_is_refused) {
    fs::create_directory(path);
    fs::permissions(path, fs::perms::all);
    EXPECT_NE(refusal([&] { joined(); }).find("others may use the directory"), std::string::npos);
    EXPECT_FALSE(lending_board::is_joined());
    fs::remove(path);
    EXPECT_NE(refusal([&] { lending_board::watch(path); }).find("cannot be opened"), std::string::npos);
    EXPECT_NE(refusal([&] { lending_board::join(path + "/no/such", 1, 1); }).find("cannot be made"),
              std::string::npos);
    fs::create_directory(path);
    fs::create_directory_symlink(path, path + "_link");
    EXPECT_NE(refusal([&] { lending_board::watch(path + "_link"); }).find("no link"), std::string::npos);
    fs::remove(path + "_link");
}

} // namespace
} // namespace weft::share
