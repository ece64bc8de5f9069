// ctest: labels=concurrent
// The table of the programs on a machine: what a reader sees of programs that run, end, are killed in the middle of a write,
// or write what they should not.
#include "share/process_clock.hpp"
#include "share/slot_writer.hpp"
#include "share/table.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::share {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t second = 1'000'000'000;

class share_table : public testing::Test {
protected:
    share_table() {
        static int number = 0;
        path = testing::TempDir() + "weft_table_" + std::to_string(getpid()) + "_" + std::to_string(number++);
    }
    ~share_table() override { fs::remove_all(path); }

    table made() const { return table::create(path, 4, 100'000'000); }
    slot_reading look(table& t, int slot = 1) const { return t.read(slot, monotonic_ns(), 10 * second); }
    /// Changes a word of a file behind its head; word 0 is the sequence number.
    void spoil(const std::string& file, int word, std::uint64_t value) const {
        std::fstream f(path + "/" + file, std::ios::in | std::ios::out | std::ios::binary);
        f.seekp(64 + 8 * word);
        f.write(reinterpret_cast<const char*>(&value), sizeof value);
        ASSERT_TRUE(f.good());
    }

    std::string path;
};

template <class F>
std::string refused(F&& f) {
    try {
        f();
    } catch (const error& e) { return e.what(); }
    return "accepted";
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_F(share_table, a_program_publishes_and_a_reader_sees_it) {
    table t = made();
    EXPECT_EQ(look(t).state, reading::none);
    const std::string spec = t.prepare(1, geteuid());
    EXPECT_EQ(spec, path + ":1");
    EXPECT_EQ(look(t).state, reading::empty);
    auto mine = slot_writer::claim(spec);
    ASSERT_TRUE(mine);
    EXPECT_EQ(mine->period(), 100'000'000);
    mine->publish({.tasks = 5, .work = 2500, .misses = 7, .workers = 4, .active = 3, .busy = 11});
    const slot_reading seen = look(t);
    EXPECT_EQ(seen.state, reading::fresh) << seen.why;
    EXPECT_EQ(seen.numbers.pid, getpid());
    EXPECT_EQ(seen.numbers.start, start_ticks());
    EXPECT_GT(seen.numbers.start, 0);
    EXPECT_EQ(seen.numbers.tasks, 5);
    EXPECT_EQ(seen.numbers.work, 2500);
    EXPECT_EQ(seen.numbers.misses, 7);
    EXPECT_EQ(seen.numbers.active, 3);
    EXPECT_EQ(seen.numbers.busy, 11);
    mine->publish({.workers = 4, .is_over = true});
    EXPECT_EQ(look(t).state, reading::over);
}

TEST_F(share_table, old_publications_are_stale) {
    table t = made();
    auto mine = slot_writer::claim(t.prepare(1, geteuid()));
    mine->publish({.workers = 1});
    const std::int64_t now = monotonic_ns();
    EXPECT_EQ(t.read(1, now, second).state, reading::fresh);
    EXPECT_EQ(t.read(1, now + 2 * second, second).state, reading::stale);
    EXPECT_EQ(t.read(1, now - second, second).state, reading::fresh)
        << "the caller has looked at the clock before";
    const auto written = words_of(slot_numbers{.pid = 1, .published = now + 1, .workers = 1});
    EXPECT_EQ(read_slot(slot_head(), written, now, second).why, "its time is 1 ns in the future");
}

TEST_F(share_table, a_slot_has_one_writer) {
    table t = made();
    const std::string spec = t.prepare(1, geteuid());
    auto first = slot_writer::claim(spec);
    EXPECT_TRUE(first);
    EXPECT_FALSE(slot_writer::claim(spec));
    first.reset();
    EXPECT_TRUE(slot_writer::claim(spec));
}

// F2
TEST_F(share_table, a_new_program_has_a_new_file) {
    table t = made();
    auto old = slot_writer::claim(t.prepare(1, geteuid()));
    auto young = slot_writer::claim(t.prepare(1, geteuid()));
    ASSERT_TRUE(young);
    young->publish({.tasks = 2, .workers = 1});
    old->publish({.tasks = 1, .workers = 1}); // writes into nothing
    EXPECT_EQ(look(t).numbers.tasks, 2);
    t.release(1);
    young->publish({.workers = 1});
    EXPECT_EQ(look(t).state, reading::none);
    t.release(1);
}

TEST_F(share_table, a_writer_killed_inside_leaves_a_torn_slot_until_the_next_one) {
    table t = made();
    const std::string spec = t.prepare(1, geteuid());
    slot_writer::claim(spec)->publish({.tasks = 1, .workers = 1});
    spoil("slot-1", 0, 77);
    EXPECT_EQ(look(t).state, reading::torn);
    slot_writer::claim(spec)->publish({.tasks = 2, .workers = 1});
    EXPECT_EQ(look(t).numbers.tasks, 2);
}

TEST_F(share_table, numbers_out_of_their_ranges_are_refused) {
    table t = made();
    auto mine = slot_writer::claim(t.prepare(1, geteuid()));
    for (int word = 1; word <= static_cast<int>(slot_words); ++word) {
        mine->publish({.misses = 0, .workers = 1});
        ASSERT_EQ(look(t).state, reading::fresh);
        spoil("slot-1", word, std::uint64_t{1} << 63);
        const slot_reading seen = look(t);
        EXPECT_EQ(seen.state, reading::damaged) << "word " << word;
        EXPECT_FALSE(seen.why.empty());
        EXPECT_EQ(seen.numbers.workers, 0);
    }
    mine->publish({.workers = 1, .active = 2});
    EXPECT_TRUE(has(look(t).why, "2 of 1 workers are active"));
}

TEST_F(share_table, files_that_are_none_of_its_files_are_refused) {
    table t = made();
    const std::string file = path + "/slot-1";
    t.prepare(1, geteuid());
    fs::resize_file(file, 100);
    EXPECT_TRUE(has(look(t).why, "it has 100 bytes and not 4096"));
    fs::resize_file(file, 4096);
    EXPECT_EQ(look(t).state, reading::empty);
    std::fstream(file, std::ios::in | std::ios::out).write("xxxx", 4);
    EXPECT_TRUE(has(look(t).why, "no head"));
    fs::remove(file);
    ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
    EXPECT_TRUE(has(look(t).why, "no regular file")); // and the reader does not wait for a writer
    fs::remove(file);
    fs::create_symlink("/etc/passwd", file);
    EXPECT_EQ(look(t).state, reading::damaged);
    fs::remove(file);
    fs::create_directory(file);
    EXPECT_EQ(look(t).state, reading::damaged);
}

// A reader whose file a lease keeps would wait for as long as /proc/sys/fs/lease-break-time says.
TEST_F(share_table, a_lease_makes_no_reader_wait) {
    table t = made();
    t.prepare(1, geteuid());
    int ready[2];
    int end[2];
    ASSERT_EQ(pipe(ready), 0);
    ASSERT_EQ(pipe(end), 0);
    const pid_t owner = fork();
    if (owner == 0) {
        const int file = ::open((path + "/slot-1").c_str(), O_RDWR);
        signal(SIGIO, SIG_IGN); // another process wants the file
        const char has_lease = fcntl(file, F_SETLEASE, F_WRLCK) == 0 ? 'y' : 'n';
        [[maybe_unused]] auto ignored = write(ready[1], &has_lease, 1);
        char none = 0;
        close(end[1]);
        ignored = read(end[0], &none, 1);
        _exit(0);
    }
    char has_lease = 'n';
    ASSERT_EQ(read(ready[0], &has_lease, 1), 1);
    const std::int64_t before = monotonic_ns();
    const slot_reading seen = look(t);
    if (has_lease == 'y') { EXPECT_EQ(seen.state, reading::damaged); }
    EXPECT_LT(monotonic_ns() - before, 20 * second); // a limit; the kernel would wait 45 s
    for (const int f : {ready[0], ready[1], end[0], end[1]}) close(f);
    waitpid(owner, nullptr, 0);
}

TEST_F(share_table, belongs_to_one_daemon_and_is_taken_over_when_it_is_gone) {
    std::string spec;
    std::optional<slot_writer> mine;
    {
        table t = made();
        EXPECT_FALSE(t.is_adopted());
        EXPECT_TRUE(has(refused([&] { made(); }), "another daemon has the table; given: " + path));
        spec = t.prepare(1, geteuid());
        mine = slot_writer::claim(spec);
        ASSERT_TRUE(t.publish(
            {.generation = 5,
             .decided = 3,
             .by = 3,
             .programs = {{.slot = 1, .pid = 12, .rate = 9, .domain = -1, .active = 2, .name = "a"}}}));
        EXPECT_EQ(mine->wish(), 2);
    }
    table t = table::create(path, 9, second); // keeps its slots and its period
    EXPECT_TRUE(t.is_adopted());
    EXPECT_EQ(t.slots(), 4);
    EXPECT_EQ(t.period(), 100'000'000);
    const table_reading last = t.read();
    ASSERT_EQ(last.state, reading::fresh) << last.why;
    EXPECT_EQ(last.numbers.generation, 5U);
    EXPECT_EQ(last.numbers.programs.at(0).name, "a");
    EXPECT_EQ(last.numbers.programs.at(0).domain, -1);
    EXPECT_EQ(mine->wish(), 2);
    EXPECT_FALSE(t.publish({.generation = 4, .decided = 9})) << "a stale decision";
    EXPECT_EQ(t.read().numbers.decided, 3);
    EXPECT_TRUE(t.publish({.generation = 5, .programs = {{.slot = 1}}}));
    EXPECT_EQ(mine->wish(), 0);
    t.remove();
    EXPECT_FALSE(fs::exists(path));
    EXPECT_EQ(mine->wish(), 0);
    mine->publish({.workers = 1}); // no reader, no harm
}

TEST_F(share_table, a_damaged_table_is_made_anew) {
    { made().prepare(2, geteuid()); }
    std::fstream(path + "/table", std::ios::in | std::ios::out).write("xxxx", 4);
    EXPECT_TRUE(has(refused([&] { table::open(path); }), "no table of programs: it is no table of programs"));
    table t = made();
    EXPECT_FALSE(t.is_adopted());
    EXPECT_FALSE(fs::exists(path + "/slot-2")) << "left over";
    EXPECT_TRUE(t.publish({.generation = 1}));
    spoil("table", 6, 65); // the number of programs
    EXPECT_EQ(t.read().state, reading::damaged);
}

TEST_F(share_table, a_daemon_killed_inside_leaves_a_torn_table_until_the_next_one) {
    {
        table t = made();
        t.publish({.generation = 3});
    }
    spoil("table", 0, 9);
    table t = made();
    EXPECT_EQ(t.read().state, reading::torn);
    EXPECT_TRUE(t.publish({.generation = 1}));
    EXPECT_EQ(t.read().numbers.generation, 1U);
}

TEST_F(share_table, readers_change_nothing) {
    { made(); }
    table t = table::open(path);
    EXPECT_TRUE(has(refused([&] { t.publish({}); }), "only the daemon may change the table"));
    EXPECT_TRUE(has(refused([&] { t.prepare(0, geteuid()); }), "only the daemon"));
    EXPECT_TRUE(has(refused([&] { t.read(4, 0, 0); }), "there is no such slot; given: 4; allowed: 0..3"));
    t.close();
    EXPECT_TRUE(has(refused([&] { t.read(); }), "the table is closed"));
}

TEST_F(share_table, files_have_the_modes_that_keep_programs_apart) {
    const mode_t before = umask(077);
    table t = made();
    t.prepare(0, geteuid());
    umask(before);
    const auto mode = [&](const std::string& name) {
        struct stat is{};
        EXPECT_EQ(lstat((path + name).c_str(), &is), 0) << name;
        return is.st_mode & 07777;
    };
    EXPECT_EQ(mode(""), 0755U);
    EXPECT_EQ(mode("/table"), 0644U);
    EXPECT_EQ(mode("/lock"), 0600U);
    EXPECT_EQ(mode("/slot-0"), 0644U);
    EXPECT_EQ(mode("/slot-0.lock"), 0600U);
}

// F1
TEST_F(share_table, other_users_write_only_their_own_slots) {
    if (geteuid() != 0) GTEST_SKIP() << "only root makes slots for other users";
    constexpr uid_t nobody_id = 65534;
    chmod(testing::TempDir().c_str(), 01777);
    table t = made();
    const std::string spec = t.prepare(1, nobody_id);
    t.prepare(2, geteuid());
    const pid_t child = fork();
    if (child == 0) {
        if (setuid(nobody_id) != 0) _exit(99);
        int failed = 0;
        auto mine = slot_writer::claim(spec);
        if (mine) mine->publish({.tasks = 3, .workers = 1});
        failed |= mine ? 0 : 1;
        const auto opens = [&](const char* name, int flags) {
            return ::open((path + name).c_str(), flags) >= 0;
        };
        failed |= opens("/slot-2", O_WRONLY) || opens("/table", O_WRONLY) ? 2 : 0;
        failed |= opens("/lock", O_RDONLY) || opens("/slot-2.lock", O_RDONLY) ? 4 : 0;
        failed |= unlink((path + "/slot-1").c_str()) == 0 || opens("/new", O_WRONLY | O_CREAT) ? 8 : 0;
        failed |= opens("/slot-2", O_RDONLY) && opens("/table", O_RDONLY) ? 0 : 16;
        _exit(failed);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(look(t).numbers.tasks, 3);
}

TEST_F(share_table, is_not_made_where_others_write) {
    fs::create_directory(path);
    fs::permissions(path, fs::perms::all);
    EXPECT_TRUE(has(refused([&] { made(); }), "others may write the directory of the table"));
    fs::remove_all(path);
    fs::create_directory_symlink("/tmp", path);
    EXPECT_TRUE(has(refused([&] { made(); }), "cannot be opened"));
    EXPECT_TRUE(
        has(refused([&] { table::create(path, 0, second); }), "number of slots is out of range; given: 0"));
    EXPECT_TRUE(has(refused([&] { table::create(path, 1, 1); }), "period is out of range; given: 1 ns"));
    EXPECT_TRUE(has(refused([&] { table::open("/nowhere"); }), "no table of programs can be opened"));
}

TEST_F(share_table, a_wrong_variable_is_refused_with_its_text) {
    table t = made();
    t.prepare(1, geteuid());
    for (const char* spec : {"", ":1", "x", "/dev/null:1", ":"})
        EXPECT_TRUE(
            has(refused([&] { slot_writer::claim(spec); }), std::string("given: WEFT_SHARE=") + spec + ";"))
            << spec;
    for (const std::string slot : {"1x", "-1", "", "99999999999", "4"})
        EXPECT_TRUE(has(refused([&] { slot_writer::claim(path + ":" + slot); }), "allowed: PATH:SLOT"))
            << slot;
}

TEST_F(share_table, what_is_gone_or_damaged_stops_no_program) {
    EXPECT_FALSE(slot_writer::claim("/nowhere:1"));
    table t = made();
    EXPECT_FALSE(slot_writer::claim(path + ":1")) << "it has not been made";
    const std::string spec = t.prepare(1, geteuid());
    fs::resize_file(path + "/slot-1", 100);
    EXPECT_FALSE(slot_writer::claim(spec));
    fs::remove(path + "/slot-1");
    EXPECT_FALSE(slot_writer::claim(spec));
    t.prepare(1, geteuid());
    EXPECT_TRUE(slot_writer::claim(spec)) << "a new one";
    t.release(1);
    EXPECT_FALSE(slot_writer::claim(spec));
    fs::remove(path + "/table");
    EXPECT_FALSE(slot_writer::claim(spec));
}

// A user's mistake is told of once. What a child inherits from a program of a daemon that has gone is none.
TEST_F(share_table, only_a_value_that_no_daemon_gave_is_told_of) {
    GTEST_FLAG_SET(death_test_style, "threadsafe"); // a process of its own, which has told of nothing
    const auto claim = [&](const std::string& spec, const std::string& given) {
        unsetenv("COSCHED_SLOT");
        if (!given.empty()) setenv("COSCHED_SLOT", given.c_str(), 1);
        bool found = slot_writer::claim(spec).has_value();
        found |= slot_writer::claim(spec).has_value();
        std::fputs("end\n", stderr);
        _exit(found);
    };
    const auto exit = testing::ExitedWithCode(0);
    const std::string told =
        "^weft: WEFT_SHARE=/nowhere:1 is not used: there is no such directory[^\n]*\nend";
    EXPECT_EXIT(claim("/nowhere:1", ""), exit, told);
    EXPECT_EXIT(claim("/nowhere:1", "/nowhere:2"), exit, told);
    EXPECT_EXIT(claim("/nowhere:1", "/nowhere:1"), exit, "^end");
    EXPECT_EXIT(claim("/tmp:1", ""), exit,
                "^weft: WEFT_SHARE=/tmp:1 is not used: no daemon has its table[^\n]*\nend");
    EXPECT_EXIT(claim("/tmp:1", "/tmp:1"), exit, "^end");
}

TEST_F(share_table, the_daemon_publishes_only_what_readers_accept) {
    table t = made();
    const auto one = [&](table_program p) {
        return refused([&] { t.publish({.generation = 1, .programs = {p}}); });
    };
    EXPECT_EQ(one({.slot = 3, .name = std::string(100, 'x')}), "accepted");
    EXPECT_EQ(t.read().numbers.programs.at(0).name, std::string(31, 'x'));
    EXPECT_TRUE(has(one({.slot = 4}), "slot 4 is not there or twice"));
    EXPECT_TRUE(has(one({.rate = -1}), "rate is -1, out of 0..1000000000000000"));
    EXPECT_TRUE(has(one({.domain = 64}), "domain is 64"));
    EXPECT_TRUE(has(refused([&] { t.publish({.programs = {{.slot = 1}, {.slot = 1}}}); }),
                    "slot 1 is not there or twice"));
    EXPECT_TRUE(
        has(refused([&] { t.publish({.programs = std::vector<table_program>(5)}); }), "too many programs"));
    EXPECT_EQ(t.read().numbers.programs.at(0).slot, 3) << "a refused table is not written";
}

// All numbers of a publication are the same: a reader that mixes two publications sees it (K1, K2 of share/README.md).
TEST_F(share_table, a_reader_never_mixes_two_publications) {
    table t = made();
    auto mine = slot_writer::claim(t.prepare(1, geteuid()));
    mine->publish({.workers = 1});
    std::atomic<bool> stop = false;
    std::thread writer([&] {
        for (std::int64_t i = 1; !stop.load(std::memory_order_relaxed); ++i) // relaxed: a wish to end
            mine->publish(
                {.processor = i, .tasks = i, .work = i, .bytes = i, .misses = i, .workers = 1, .busy = i});
    });
    int whole = 0;
    for (int i = 0; i < 20000; ++i) {
        const slot_reading seen = look(t);
        if (seen.state != reading::fresh) {
            EXPECT_EQ(seen.state, reading::torn) << seen.why;
            continue;
        }
        const slot_numbers& n = seen.numbers;
        ++whole;
        if (n.tasks == 0) continue;
        ASSERT_EQ(n.processor, n.tasks);
        ASSERT_EQ(n.work, n.tasks);
        ASSERT_EQ(n.bytes, n.tasks);
        ASSERT_EQ(n.misses, n.tasks);
        ASSERT_EQ(n.busy, n.tasks);
    }
    stop.store(true, std::memory_order_relaxed);
    writer.join();
    EXPECT_GT(whole, 0);
}

// Programs that are killed at any instant: what is read is whole, and the slot can be used again (K3, F4 of share/README.md).
TEST_F(share_table, programs_may_be_killed_at_any_instant) {
    table t = made();
    std::int64_t least = 0;
    for (int round = 0; round < 30; ++round) {
        const std::string spec = t.prepare(1, geteuid());
        const pid_t child = fork();
        if (child == 0) {
            auto mine = slot_writer::claim(spec);
            for (std::int64_t i = 1;; ++i) mine->publish({.tasks = i, .work = i, .workers = 1, .busy = i});
        }
        slot_reading seen;
        do { seen = look(t); } while (seen.state == reading::empty);
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        seen = look(t);
        ASSERT_TRUE(seen.state == reading::fresh || seen.state == reading::torn) << seen.why;
        if (seen.state == reading::torn) continue;
        ++least;
        ASSERT_EQ(seen.numbers.pid, child);
        ASSERT_EQ(seen.numbers.tasks, seen.numbers.work);
        ASSERT_EQ(seen.numbers.tasks, seen.numbers.busy);
    }
    EXPECT_GT(least, 0);
}

// A slot belongs to its program, which may write anything there; the table may be damaged by any process of this user. Whatever
// the words are, a reader gets numbers in their ranges or none (F3).
TEST_F(share_table, no_content_makes_a_reader_fail) {
    const auto seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    constexpr unsigned words_of_slot = slot_words + 1;
    const auto words_of_table = static_cast<unsigned>(table_words(4)) + 1;
    // Small numbers and the ends of ranges are more likely than any other.
    const auto word = [&]() -> std::uint64_t {
        switch (random() % 6) {
        case 0: return random() % 4;
        case 1: return ~std::uint64_t{0} - random() % 4;
        case 2: return (std::uint64_t{1} << (random() % 64)) + random() % 3 - 1;
        case 3: return static_cast<std::uint64_t>(monotonic_ns()) - random() % 1000;
        default: return random();
        }
    };
    int whole = 0;
    for (int round = 0; round < 300; ++round) {
        table t = made();
        auto mine = slot_writer::claim(t.prepare(1, geteuid()));
        mine->publish({.workers = 2, .active = 1});
        t.publish({.generation = 1, .programs = {{.slot = 1, .active = 2}}});
        for (std::uint64_t n = random() % 3; n > 0; --n)
            spoil("slot-1", static_cast<int>(random() % words_of_slot), word());
        for (std::uint64_t n = random() % 3; n > 0; --n)
            spoil("table", static_cast<int>(random() % words_of_table), word());
        const slot_reading slot = look(t);
        if (slot.state == reading::fresh || slot.state == reading::stale || slot.state == reading::over) {
            ++whole;
            const slot_numbers& n = slot.numbers;
            for (const std::int64_t v :
                 {n.processor, n.tasks, n.work, n.bytes, n.busy, n.start, n.published}) {
                ASSERT_GE(v, 0) << round;
                ASSERT_LE(v, most_count) << round;
            }
            ASSERT_LE(n.published, monotonic_ns()) << round;
            ASSERT_GE(n.workers, n.active) << round;
        }
        const table_reading all = t.read();
        if (all.state == reading::fresh) {
            ++whole;
            ASSERT_LE(all.numbers.programs.size(), 4U) << round;
            for (const table_program& p : all.numbers.programs) {
                ASSERT_TRUE(0 <= p.slot && p.slot < 4) << round;
                ASSERT_TRUE(-1 <= p.domain && p.domain < most_domains) << round;
                ASSERT_TRUE(0 <= p.rate && p.rate <= most_rate) << round;
            }
        }
        const int wished = mine->wish();
        ASSERT_TRUE(0 <= wished && wished <= 4096) << round;
        t.remove();
    }
    EXPECT_GT(whole, 0);
}

} // namespace
} // namespace weft::share
