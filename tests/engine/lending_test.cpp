// ctest: timeout=600 labels=not_tsan,not_asan
// Runtimes that lend cores to each other (WEFT_LEND): each in a process of its own, on the lowest two cores of this test. What
// they lend and borrow is seen on their board; times decide nothing.
#include "engine/support.hpp"
#include "share/lending_board.hpp"

#include <weft/weft.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

/// A limit, not an expectation.
bool wait_until(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(200);
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
}

std::vector<int> cores_of_this_test() {
    static const std::vector<int> all = [] {
        cpu_set_t mask;
        std::vector<int> cpus;
        if (sched_getaffinity(0, sizeof mask, &mask) == 0)
            for (int c = 0; c < share::most_cpus; ++c)
                if (CPU_ISSET(static_cast<std::size_t>(c), &mask)) cpus.push_back(c);
        return cpus;
    }();
    return all;
}

void move_to(const std::vector<int>& cpus) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (const int c : cpus) CPU_SET(static_cast<std::size_t>(c), &mask);
    if (sched_setaffinity(0, sizeof mask, &mask) != 0) _exit(9);
}

/// What a program is to do, written by the test, and what it has done.
struct orders {
    std::atomic<bool> works{false}, ends{false};
    std::atomic<int> most_active{0};
    std::atomic<std::uint64_t> sums{0}, wrong{0};
};

/// Of the program that this process is.
runtime* own = nullptr;
orders* own_orders = nullptr;

std::uint64_t fib(int n) {
    if (n < 2) return static_cast<std::uint64_t>(n);
    if (n == 12 && own->active_workers() > own_orders->most_active)
        own_orders->most_active = own->active_workers(); // only grows, but for the moment of a race
    const auto [a, b] = join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
    return a + b;
}

/// A process with a runtime that works while it is told to.
class program {
public:
    program(const std::string& board, std::vector<int> cpus, const std::string& policy = "steal") {
        void* const at =
            mmap(nullptr, sizeof(orders), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        told_ = new (at) orders;
        pid_ = fork();
        if (pid_ != 0) return;
        move_to(cpus);
        int status = 1;
        try {
            status = run(board, policy);
        } catch (const std::exception& e) { std::fprintf(stderr, "%s\n", e.what()); }
        _exit(status);
    }
    ~program() {
        kill_now();
        munmap(told_, sizeof(orders));
    }
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    orders& told() { return *told_; }
    pid_t pid() const { return pid_; }
    bool is_alive() const { return pid_ > 0; }
    void kill_now() {
        if (pid_ <= 0) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }
    /// Its exit status, when it was told to end.
    int status() {
        told_->ends = true;
        int how = 0;
        waitpid(pid_, &how, 0);
        pid_ = 0;
        return WIFEXITED(how) ? WEXITSTATUS(how) : 128;
    }

private:
    int run(const std::string& board, const std::string& policy) {
        runtime rt({.policy = policy, .lend = "on:directory=" + board + ",reach=machine,tick=500us"});
        own = &rt;
        own_orders = told_;
        while (!told_->ends) {
            if (!told_->works) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                continue;
            }
            std::uint64_t sum = 0;
            rt.run([&] { sum = fib(22); });
            ++(sum == 17711 ? told_->sums : told_->wrong);
        }
        return told_->wrong == 0 ? 0 : 2;
    }

    orders* told_ = nullptr;
    pid_t pid_ = 0;
};

class lending : public testing::Test {
protected:
    lending() {
        static int number = 0;
        path_ =
            testing::TempDir() + "weft_lending_" + std::to_string(getpid()) + "_" + std::to_string(number++);
    }
    ~lending() override { fs::remove_all(path_); }
    void SetUp() override {
        if (cores_of_this_test().size() < 2) GTEST_SKIP() << "one core has no neighbour";
        fs::create_directory(path_);
        fs::permissions(path_, fs::perms::owner_all);
        board_ = std::make_unique<share::lending_board>(share::lending_board::watch(path_));
    }

    int first() const { return cores_of_this_test()[0]; }
    int second() const { return cores_of_this_test()[1]; }
    /// The core is lent by that program.
    bool lends(const program& p, int cpu) {
        board_->look();
        return board_->core(cpu).lender == p.pid();
    }
    bool claims(const program& p, int cpu) {
        board_->look();
        for (const share::lending_peer& peer : board_->peers())
            for (int g = 0; peer.head.pid == p.pid() && g < peer.head.guests; ++g)
                if (peer.claim(g).cpu == cpu) return true;
        return false;
    }

    std::string path_;
    std::unique_ptr<share::lending_board> board_;
};

// Z1 to Z3 of share/README.md: the owner works though the borrower goes on, whose sums stay right, and which has no core
// of others when it has no work.
TEST_F(lending, a_core_is_lent_borrowed_and_taken_back) {
    program owner(path_, {first()}), borrower(path_, {second()});
    ASSERT_TRUE(wait_until([&] { return lends(owner, first()); }));
    ASSERT_TRUE(wait_until([&] { return lends(borrower, second()); }));
    EXPECT_TRUE(wait_until([&] { return !claims(borrower, first()); }))
        << "its workers have started, and sleep";

    borrower.told().works = true;
    EXPECT_TRUE(wait_until([&] { return claims(borrower, first()); }));
    EXPECT_TRUE(wait_until([&] { return borrower.told().most_active == 2; })) << "its guest has worked";
    EXPECT_TRUE(wait_until([&] { return lends(owner, first()); })) << "its worker has not been woken";

    owner.told().works = true;
    EXPECT_TRUE(wait_until([&] { return !lends(owner, first()) && !claims(borrower, first()); }));
    EXPECT_TRUE(wait_until([&] { return owner.told().sums > 3; }));

    owner.told().works = false;
    EXPECT_TRUE(wait_until([&] { return claims(borrower, first()); })) << "it borrows it again";
    borrower.told().works = false;
    EXPECT_TRUE(wait_until([&] { return !claims(borrower, first()); }))
        << "a program without work has no core of others";
    EXPECT_EQ(owner.status(), 0);
    EXPECT_EQ(borrower.status(), 0);
    board_->look();
    EXPECT_TRUE(board_->peers().empty());
    EXPECT_TRUE(fs::is_empty(path_));
}

TEST_F(lending, a_killed_lender_takes_its_cores_with_it) {
    program owner(path_, {first()}), borrower(path_, {second()});
    borrower.told().works = true;
    ASSERT_TRUE(wait_until([&] { return claims(borrower, first()); }));
    owner.kill_now();
    EXPECT_TRUE(wait_until([&] { return !claims(borrower, first()); }));
    const auto before = borrower.told().sums.load();
    EXPECT_TRUE(wait_until([&] { return borrower.told().sums > before + 2; }));
    EXPECT_EQ(borrower.status(), 0);
}

TEST_F(lending, a_killed_borrower_leaves_the_core_to_others) {
    program owner(path_, {first()}), borrower(path_, {second()}), other(path_, {second()});
    ASSERT_TRUE(wait_until([&] { return lends(owner, first()); }));
    borrower.told().works = true;
    ASSERT_TRUE(wait_until([&] { return claims(borrower, first()); }));
    borrower.kill_now();
    other.told().works = true;
    EXPECT_TRUE(wait_until([&] { return claims(other, first()); }));
    owner.told().works = true;
    EXPECT_TRUE(wait_until([&] { return owner.told().sums > 0; }));
    EXPECT_EQ(owner.status(), 0);
    EXPECT_EQ(other.status(), 0);
}

TEST_F(lending, two_borrowers_never_claim_one_core_for_long) {
    program owner(path_, {first()}), one(path_, {second()}), two(path_, {second()});
    ASSERT_TRUE(wait_until([&] { return lends(owner, first()); }));
    one.told().works = two.told().works = true;
    int claimed = 0, both = 0;
    for (int i = 0; i < 2000; ++i) {
        const bool by_one = claims(one, first()), by_two = claims(two, first());
        claimed += by_one || by_two;
        both = by_one && by_two ? both + 1 : 0;
        EXPECT_LT(both, 100) << "the later one of two withdraws at its second look";
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    EXPECT_TRUE(claimed > 0 || wait_until([&] { return claims(one, first()) || claims(two, first()); }));
    EXPECT_EQ(one.status(), 0);
    EXPECT_EQ(two.status(), 0);
}

TEST_F(lending, programs_killed_stopped_and_started_at_any_instant_disturb_no_other_one) {
    WEFT_SEEDED;
    std::mt19937_64 random(test::seed);
    const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
    const std::string policies[] = {"steal", "share", "packing"};
    std::vector<std::unique_ptr<program>> all(4);
    program survivor(path_, {second()});
    survivor.told().works = true;
    int kills = 0;
    for (int i = 0; i < test::rounds(60); ++i) {
        auto& p = all[draw(all.size())];
        if (!p)
            p = std::make_unique<program>(path_, std::vector{draw(2) ? first() : second()},
                                          policies[draw(3)]);
        switch (draw(5)) {
        case 0: p.reset(), ++kills; break; // kill -9
        case 1: kill(p->pid(), SIGSTOP); break;
        case 2: kill(p->pid(), SIGCONT); break;
        default: p->told().works = !p->told().works;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(draw(5000)));
    }
    const auto before = survivor.told().sums.load();
    for (auto& p : all)
        if (p) {
            kill(p->pid(), SIGCONT);
            EXPECT_EQ(p->status(), 0);
        }
    EXPECT_GT(kills, 0);
    EXPECT_TRUE(wait_until([&] { return survivor.told().sums > before + 1; }));
    EXPECT_EQ(survivor.status(), 0);
    board_->look();
    EXPECT_TRUE(fs::is_empty(path_)) << "no file is left behind";
}

// ---- settings

std::string refusal(const runtime_options& o) {
    try {
        const runtime rt(o);
    } catch (const error& e) { return e.what(); }
    return "accepted";
}

TEST_F(lending, wrong_settings_are_refused_with_what_is_allowed) {
    const std::string on = "on:directory=" + path_;
    for (const auto& [text, what] : {
             std::pair<std::string, std::string>("yes", "unknown way to lend cores"),
             {"on:", "has no value"},
             {"on:tick", "has no value"},
             {"on:tick=1", "100us to 100ms"},
             {"on:tick=1s", "100us to 100ms"},
             {"on:reach=socket", "unknown reach"},
             {"on:directory=here", "a path from /"},
             {"on:places=3", "unknown option of lending"},
         })
        EXPECT_NE(refusal({.lend = text}).find(what), std::string::npos) << refusal({.lend = text});
    EXPECT_EQ(refusal({.lend = "off"}), "accepted");
    EXPECT_NE(refusal({.policy = "adws", .lend = on}).find("can neither borrow"), std::string::npos)
        << refusal({.policy = "adws", .lend = on});
    EXPECT_NE(refusal({.preempt = "yield", .lend = on}).find("cannot be preempted while cores are lent"),
              std::string::npos);
    EXPECT_NE(refusal({.machine = "pack:1 core:4 pu:1", .lend = on}).find("described machine"),
              std::string::npos)
        << refusal({.machine = "pack:1 core:4 pu:1", .lend = on});
    EXPECT_EQ(refusal({.engine = "model", .machine = "pack:1 core:4 pu:1", .lend = on}), "accepted");
    EXPECT_EQ(refusal({.lend = on}), "accepted") << "nothing of the refused ones is left";
}

TEST_F(lending, guests_are_workers_that_are_not_active) {
    move_to({first()});
    {
        runtime rt({.lend = "on:directory=" + path_ + ",reach=machine"});
        EXPECT_GE(rt.workers(), 2);
        EXPECT_EQ(rt.active_workers(), 1);
        rt.set_active_workers(rt.workers());
        EXPECT_EQ(rt.active_workers(), 1) << "guests come with borrowed cores only";
        runtime second_one({.workers = 2, .lend = "on:directory=" + path_});
        EXPECT_EQ(second_one.workers(), 2) << "a second runtime takes no part";
        board_->look();
        EXPECT_EQ(board_->peers().size(), 1u);
        int sum = 0;
        second_one.run([&] { sum = rt.run([] { return 7; }); });
        EXPECT_EQ(sum, 7);
    }
    move_to(cores_of_this_test());
    board_->look();
    EXPECT_TRUE(board_->peers().empty());
}

TEST_F(lending, an_inactive_worker_lends_its_core) {
    move_to({first(), second()});
    {
        runtime rt({.workers = 2, .pin = "compact", .lend = "on:directory=" + path_});
        rt.set_active_workers(1);
        const auto lent = [&] {
            board_->look();
            return board_->core(second()).is_lent();
        };
        EXPECT_TRUE(wait_until(lent));
        rt.run([&] { EXPECT_TRUE(wait_until(lent)) << "also while the other one works"; });
        EXPECT_EQ(rt.active_workers(), 1);
    }
    move_to(cores_of_this_test());
}

// Its destructor never runs.
TEST_F(lending, the_default_runtime_leaves_the_board_at_the_end_of_the_process) {
    const pid_t child = fork();
    if (child == 0) {
        move_to({first()});
        setenv("WEFT_LEND", ("on:directory=" + path_).c_str(), 1);
        const auto [a, b] = join([] { return fib(3); }, [] { return fib(4); });
        std::exit(a + b == 5 && !fs::is_empty(path_) ? 0 : 3);
    }
    int how = 0;
    waitpid(child, &how, 0);
    EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0) << how;
    EXPECT_TRUE(fs::is_empty(path_));
}

} // namespace
} // namespace weft
