// ctest: timeout=600 labels=slow,not_tsan
//
// ThreadSanitizer keeps signals, so preempted code must call it to be stopped: not there.
//
// Random nested programs of preempted tasks, of every type and with every way of ticking, while the machine is idle or
// busy and workers come and go: the results are those of plain code, and nothing is left over.
//
// tests/stress/soak_programs.hpp says what they are made of. Round i has seed WEFT_TEST_SEED + i, and a failure names the
// seed with which its round is the first one. WEFT_TEST_SOAK is for how many seconds rounds follow each other; without
// it there are a few rounds.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>

#include "engine/preempted.hpp"
#include "engine/process/signal_claim.hpp"
#include "engine/watchdog.hpp"
#include "stress/soak_programs.hpp"

namespace weft {
namespace {

using namespace test::soak;
using namespace std::chrono_literals;

const auto soak_given = test::take_variable("WEFT_TEST_SOAK");

// ---- what a round consists of

struct setting {
    std::string preempt, policy;
    types of = types::klt;
    int workers = 1, roots = 1, burners = 0;
    bool resizes = false;

    explicit setting(std::mt19937_64& random) {
        const auto one_of = [&](const auto& all) { return all[random() % std::size(all)]; };
        of = static_cast<types>(random() % 3);
        preempt = of == types::yield ? "yield" : "klt";
        preempt += random() % 2 ? ":interval=100us" : ":interval=1ms";
        const char* const timers[] = {"created", "aligned", "one-to-all", "chain", "hybrid"};
        const std::string timer = one_of(timers);
        preempt += ",timer=" + timer;
        if (timer == "hybrid") preempt += ",groups=" + std::to_string(1 + random() % 4);
        const char* const parks[] = {"sigsuspend", "futex", "futex_local"};
        preempt += std::string(",park=") + one_of(parks);
        policy = one_of(test::all_policies);
        workers = static_cast<int>(1 + random() % 4);
        roots = static_cast<int>(1 + random() % 3);
        burners = random() % 2 ? 2 : 0;
        resizes = random() % 3 == 0;
    }
    std::string text() const {
        const char* const names[] = {"klt", "yield", "both"};
        return std::string(names[static_cast<int>(of)]) + ", " + preempt + ", " + policy + ", " +
               std::to_string(workers) + " workers, " + std::to_string(roots) + " roots, " +
               std::to_string(burners) + " burners" + (resizes ? ", resizes" : "");
    }
};

/// Threads that compute beside the workers: without them each worker has a core, with them it waits for one, and its next
/// kernel thread comes late (Y8 of src/engine/threads/preemption/README.md).
class burners {
public:
    explicit burners(int count) {
        for (int i = 0; i < count; ++i)
            threads_.emplace_back([this] {
                while (!stop_) test::compute(10'000);
            });
    }
    burners(const burners&) = delete;
    burners& operator=(const burners&) = delete;
    ~burners() {
        stop_ = true;
        for (auto& t : threads_) t.join();
    }

private:
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

class random_resizer {
public:
    random_resizer(runtime& of, int workers, std::uint64_t seed)
        : engine_(test::engine_of(of))
        , workers_(workers) {
        if (!engine_.need.resizable) return;
        thread_ = std::thread([this, seed] {
            std::mt19937_64 random(seed);
            while (!stop_) {
                engine_.set_active(1 + static_cast<int>(random() % static_cast<unsigned>(workers_)));
                std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
            }
            engine_.set_active(workers_);
        });
    }
    random_resizer(const random_resizer&) = delete;
    random_resizer& operator=(const random_resizer&) = delete;
    ~random_resizer() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
    }

private:
    engine::thread_engine& engine_;
    const int workers_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

// ---- what may be left over

std::size_t entries_of(const char* folder) {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

struct leftovers {
    std::size_t threads = entries_of("/proc/self/task"), files = entries_of("/proc/self/fd");
    std::string timers = [] {
        std::ifstream in("/proc/self/timers");
        return std::string(std::istreambuf_iterator<char>(in), {});
    }();
    bool has_handler = [] {
        struct sigaction now{};
        sigaction(engine::tick_signal(), nullptr, &now);
        return now.sa_handler != SIG_DFL;
    }();

    friend bool operator==(const leftovers&, const leftovers&) = default;
    friend std::ostream& operator<<(std::ostream& out, const leftovers& l) {
        return out << l.threads << " threads, " << l.files << " files, timers: '" << l.timers << "', "
                   << (l.has_handler ? "a handler" : "no handler");
    }
};

/// Bytes that the program has from malloc. The smallest number of many rounds is compared with that of earlier ones.
class growth {
public:
    void note() {
        const auto now = mallinfo2().uordblks;
        smallest_ = std::min(smallest_, now);
        if (++rounds_ % window != 0) return;
        if (rounds_ > 2 * window) { // the first rounds still make what is made once
            EXPECT_LE(smallest_, before_ + allowed) << "bytes, after " << rounds_ << " rounds";
        }
        before_ = rounds_ > window ? std::min(before_, smallest_) : smallest_;
        smallest_ = std::numeric_limits<std::size_t>::max();
    }

private:
    static constexpr int window = 50;
    static constexpr std::size_t allowed = 256 * 1024;
    int rounds_ = 0;
    std::size_t smallest_ = std::numeric_limits<std::size_t>::max(), before_ = 0;
};

// ---- the rounds

class soak {
public:
    void round(std::uint64_t seed) {
        std::mt19937_64 random(seed);
        const setting s(random);
        const std::string what = "WEFT_TEST_SEED=" + std::to_string(seed) + ": " + s.text();
        SCOPED_TRACE(what);
        dog_.now(what);
        std::vector<node> programs;
        for (int i = 0; i < s.roots; ++i) {
            programs.push_back(generator(random(), s.of, 80).program());
            solve(programs.back());
            nodes_ += static_cast<std::uint64_t>(count(programs.back()));
        }
        const leftovers before;
        run(s, programs, random());
        // The kernel lists a thread a little longer than it takes to join it.
        static_cast<void>(test::await([&] { return leftovers() == before; }));
        EXPECT_EQ(leftovers(), before);
        if (!test::sanitized) growth_.note();
    }
    void report() const {
        std::printf("%llu programs of %llu nodes, %llu tasks preempted by yield and %llu by klt\n",
                    static_cast<unsigned long long>(programs_), static_cast<unsigned long long>(nodes_),
                    static_cast<unsigned long long>(yields_), static_cast<unsigned long long>(stops_));
    }
    std::uint64_t yields() const { return yields_; }
    std::uint64_t stops() const { return stops_; }

private:
    void run(const setting& s, const std::vector<node>& programs, std::uint64_t seed) {
        const burners load(s.burners);
        auto options = test::preempting(s.preempt, s.workers, s.policy);
        options.seed = seed;
        runtime rt(options);
        options.workers = 1 + s.workers % 2;
        runtime other(options);
        {
            std::unique_ptr<random_resizer> resizes;
            if (s.resizes) resizes = std::make_unique<random_resizer>(rt, s.workers, seed);
            std::vector<std::thread> callers;
            for (const node& program : programs)
                callers.emplace_back([&] {
                    world w{rt, other};
                    value got = 0;
                    rt.run([&] { got = eval(program, w); });
                    EXPECT_EQ(got, program.expected);
                    EXPECT_EQ(w.wrong, 0);
                });
            for (auto& c : callers) c.join();
        }
        for (runtime* const each : {&rt, &other}) {
            const auto& p = test::preempter_of(*each);
            yields_ += p.yields();
            stops_ += p.stops();
            EXPECT_EQ(p.stopped(), 0) << "tasks are still stopped";
        }
        programs_ += programs.size();
    }

    test::watchdog dog_{120s};
    growth growth_;
    std::uint64_t programs_ = 0, nodes_ = 0, yields_ = 0, stops_ = 0;
};

TEST(preempted_soak, same_results_as_plain_code_and_nothing_left_over) {
    std::printf("WEFT_TEST_SEED=%llu\n", static_cast<unsigned long long>(test::seed));
    std::fflush(stdout);
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::seconds(soak_given ? std::stoi(*soak_given) : 0);
    const std::uint64_t few = static_cast<std::uint64_t>(test::rounds(test::sanitized ? 5 : 15));
    soak all;
    for (std::uint64_t i = 0;
         !HasFailure() && (soak_given ? std::chrono::steady_clock::now() < until : i < few); ++i)
        all.round(test::seed + i);
    all.report();
    EXPECT_GT(all.yields() + all.stops(), 0U);
}

} // namespace
} // namespace weft
