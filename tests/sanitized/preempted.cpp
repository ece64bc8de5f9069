// Tasks that wait for another one by looking, for fewer workers than tasks: it does not end unless they are preempted. It is
// built and run under sanitizers (check_sanitized.py), under gdb, valgrind and perf (tests/python/test_debuggers.py), the library
// as it is installed. Prints "preempted: ok SUM". The argument is how many millions are added up, or `overrun`: then each waiting
// task writes beyond its memory.
#include <weft/runtime.hpp>
#include <weft/task_group.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace {
constexpr int waiting = 2;
std::atomic<int> looking{0};
std::atomic<bool> is_set{false};
bool overruns = false;
} // namespace

// Names that the tools are asked for.
extern "C" {
[[gnu::noinline]] void write_at(char* memory, int i) { memory[i] = 1; }

[[gnu::noinline]] void wait_for_the_other() {
    looking.fetch_add(1, std::memory_order_relaxed);
    while (!is_set.load(std::memory_order_acquire)) {}
    const auto own = std::make_unique<char[]>(16);
    write_at(own.get(), overruns ? 16 : 15);
}

[[gnu::noinline]] unsigned long sum_to(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 1; i <= n; ++i) {
        sum += i;
        asm volatile("" : "+r"(sum));
    }
    return sum;
}

[[gnu::noinline]] void set_it() { is_set.store(true, std::memory_order_release); }
}

int main(int argc, char** argv) {
    overruns = argc > 1 && std::strcmp(argv[1], "overrun") == 0;
    const unsigned long rounds =
        argc > 1 && !overruns ? std::strtoul(argv[1], nullptr, 10) * 1'000'000 : 1'000'000;
    unsigned long sum = 0;
    weft::runtime rt;
    rt.run([&] {
        weft::task_group g;
        for (int i = 0; i < waiting; ++i) g.run([] { wait_for_the_other(); });
        g.run([&] {
            // With one worker: both have begun, so both have been preempted.
            while (looking.load(std::memory_order_relaxed) < waiting) {}
            sum = sum_to(rounds);
            set_it();
        });
        g.wait();
    });
    std::printf("preempted: ok %lu\n", sum);
    return 0;
}
