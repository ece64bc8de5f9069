// Programs that lend cores to each other (WEFT_LEND): an owner on core 0 and a neighbour on core 1, each a process with one worker of
// its own.
//   what=back    how long after the instant at which the owner wants to work its task begins. The owner sleeps for some ms
//                between; the neighbour works all the time
//   what=both    how much both get done: the owner works 1 ms in 20 ms, the neighbour all the time
//   what=idle    how much a program that works gets done beside one that never has work, and what that one uses
//   lend=on|off|none (none: no neighbour, or no idle program) tick_us=1000 count=500 ms=2000
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr int most_samples = 100'000;

/// What the processes tell each other.
struct shared_words {
    std::atomic<bool> is_ready{false}, ends{false};
    std::atomic<std::int64_t> pieces{0}, processor_ns{0};
    std::atomic<int> samples{0};
    std::int64_t late_ns[most_samples] = {}; ///< read when the writer has ended
};

void move_to(int cpu) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(static_cast<std::size_t>(cpu), &mask);
    if (sched_setaffinity(0, sizeof mask, &mask) != 0) std::exit(3);
}

void sleep_until(std::int64_t at) {
    const timespec until{at / 1'000'000'000, at % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

/// A piece of work of about 50 us.
void piece() {
    for (int i = 0; i < 100'000; ++i) asm volatile("" : : "r"(i) : "memory");
}

std::int64_t processor_ns() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

/// A process, in which `does` runs with a runtime of one worker on that core.
class process {
public:
    process(int cpu, const weft::runtime_options& o,
            const std::function<void(weft::runtime&, shared_words&)>& does) {
        void* const at =
            mmap(nullptr, sizeof(shared_words), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        words_ = new (at) shared_words;
        pid_ = fork();
        if (pid_ != 0) return;
        move_to(cpu);
        {
            weft::runtime rt(o);
            rt.run([] {});
            const std::int64_t before = processor_ns();
            words_->is_ready = true;
            does(rt, *words_);
            words_->processor_ns = processor_ns() - before;
        }
        _exit(0);
    }
    ~process() {
        end();
        munmap(words_, sizeof(shared_words));
    }
    process(const process&) = delete;
    process& operator=(const process&) = delete;

    shared_words& words() { return *words_; }
    void await_ready() {
        while (!words_->is_ready) sleep_until(bench::now_ns() + ms);
    }
    void end() {
        words_->ends = true;
        if (pid_ > 0) waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }
    void await_end() {
        if (pid_ > 0) waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

private:
    shared_words* words_;
    pid_t pid_ = 0;
};

/// Works until it is to end: 16 pieces in parallel, again and again.
void works(weft::runtime& rt, shared_words& words) {
    while (!words.ends)
        rt.run([&] {
            for (int i = 0; i < 100 && !words.ends; ++i) {
                weft::task_group g;
                for (int k = 0; k < 16; ++k) g.run(piece);
                g.wait();
                words.pieces += 16;
            }
        });
}

void never_works(weft::runtime&, shared_words& words) {
    while (!words.ends) sleep_until(bench::now_ns() + 20 * ms);
}

/// Sleeps, and notes how late the first instruction of its task is. `work_ns`: for how long it works then.
void works_now_and_then(weft::runtime& rt, shared_words& words, int count, std::int64_t pause,
                        std::int64_t work_ns) {
    for (int i = 0; i < count && !words.ends; ++i) {
        // No multiple of the neighbour's tick.
        const std::int64_t wanted = bench::now_ns() + pause + i % 7 * 137'000;
        sleep_until(wanted);
        rt.run([&] {
            const std::int64_t late = bench::now_ns() - wanted;
            words.late_ns[i] = late;
            for (const std::int64_t end = processor_ns() + work_ns; processor_ns() < end;) {
                piece();
                ++words.pieces;
            }
        });
        words.samples = i + 1;
    }
}

double at(const std::vector<std::int64_t>& sorted, double part) {
    const auto last = static_cast<double>(sorted.size() - 1);
    return static_cast<double>(sorted[static_cast<std::size_t>(part * last)]) * 1e-3;
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const std::string what = given.text("what", "back"), lend = given.text("lend", "on");
        const int count = std::clamp(given.number("count", 500), 1, most_samples);
        const std::int64_t length = given.number("ms", 2000) * ms;
        if (lend != "on" && lend != "off" && lend != "none") throw bench::usage_error("lend=on, off or none");
        char board[] = "/dev/shm/weft-bench-lend-XXXXXX";
        if (!mkdtemp(board)) throw std::runtime_error("no directory in /dev/shm");
        weft::runtime_options o;
        o.lend = lend == "on" ? std::string("on:reach=machine,directory=") + board +
                                    ",tick=" + std::to_string(given.number("tick_us", 1000)) + "us"
                              : "off";
        const auto measured = [&](auto&& owner_does, auto&& neighbour_does, bool has_neighbour) {
            std::optional<process> neighbour;
            if (has_neighbour) neighbour.emplace(1, o, neighbour_does);
            if (neighbour) neighbour->await_ready();
            process owner(0, o, owner_does);
            owner.await_ready();
            const std::int64_t began = bench::now_ns();
            const std::int64_t before = neighbour ? neighbour->words().pieces.load() : 0;
            if (what == "back")
                owner.await_end();
            else
                sleep_until(began + length);
            const double seconds = static_cast<double>(bench::now_ns() - began) * 1e-9;
            const std::int64_t after = neighbour ? neighbour->words().pieces.load() : 0;
            owner.end();
            if (neighbour) neighbour->end();
            s.check(owner.words().pieces > 0);
            s.add("owner_pieces_per_s", static_cast<double>(owner.words().pieces.load()) / seconds);
            if (neighbour) {
                s.add("neighbour_pieces_per_s", static_cast<double>(after - before) / seconds);
                s.add("neighbour_processor_us_per_s",
                      static_cast<double>(neighbour->words().processor_ns.load()) * 1e-3 / seconds);
            }
            std::vector<std::int64_t> late(owner.words().late_ns,
                                           owner.words().late_ns + owner.words().samples.load());
            std::ranges::sort(late);
            if (late.empty()) return;
            s.add("samples", static_cast<double>(late.size()));
            s.add("late_p50_us", at(late, 0.5));
            s.add("late_p90_us", at(late, 0.9));
            s.add("late_p99_us", at(late, 0.99));
            s.add("late_max_us", at(late, 1));
        };
        if (what == "back")
            measured([&](weft::runtime& rt,
                         shared_words& w) { works_now_and_then(rt, w, count, 10 * ms, ms / 10); },
                     works, lend != "none");
        else if (what == "both")
            measured([&](weft::runtime& rt,
                         shared_words& w) { works_now_and_then(rt, w, most_samples, 20 * ms, ms); },
                     works, lend != "none");
        else if (what == "idle")
            measured(works, never_works, lend != "none");
        else
            throw bench::usage_error("what=back, both or idle");
        std::filesystem::remove_all(board);
    });
}
