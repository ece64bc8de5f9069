// ctest: labels=not_tsan,not_asan
//
// ThreadSanitizer calls the handlers of a program with all signals blocked, and unblocks them when a handler returns. This program
// plays its part: it has the functions by which the library knows it, and calls the library's handler like that.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <vector>

#include "engine/preempted.hpp"
#include "engine/process/signal_claim.hpp"
#include "task/sanitizers.hpp"

#ifndef WEFT_TSAN
extern "C" {
void* __tsan_get_current_fiber() {
    static char of_all_threads;
    return &of_all_threads;
}
void* __tsan_create_fiber(unsigned) { return __tsan_get_current_fiber(); }
void __tsan_destroy_fiber(void*) {}
void __tsan_switch_to_fiber(void*, unsigned) {}
}
#endif

namespace weft {
namespace {

struct sigaction of_library;
std::atomic<int> calls{0};

void call_it(int number, siginfo_t* info, void* context) {
    ++calls;
    of_library.sa_sigaction(number, info, context);
}

/// While it lives, the library's handler of ticks is called with all signals blocked. Requires: the library has one.
class between {
public:
    between() {
        sigaction(engine::tick_signal(), nullptr, &of_library);
        struct sigaction own = of_library;
        own.sa_sigaction = call_it;
        own.sa_flags &= ~SA_NODEFER;
        sigfillset(&own.sa_mask);
        sigaction(engine::tick_signal(), &own, nullptr);
    }
    between(const between&) = delete;
    between& operator=(const between&) = delete;
    ~between() { sigaction(engine::tick_signal(), &of_library, nullptr); }
};

TEST(a_task_that_yields_in_the_handler, leaves_its_thread_without_blocked_signals) {
    ASSERT_TRUE(sanitizer::has_tsan());
    runtime rt(test::preempting("yield:interval=1ms", 1));
    rt.run([] {}); // the library has its handler
    const between here;
    std::array<sigset_t, 2> masks;
    test::spin_barrier both(2); // the second task begins after the first has been preempted
    test::run_all(rt, 2, [&](int i) {
        pthread_sigmask(SIG_BLOCK, nullptr, &masks[static_cast<std::size_t>(i)]);
        both.wait();
    });
    EXPECT_GT(calls, 0);
    std::vector<int> different;
    for (int number = 1; number <= SIGRTMAX; ++number)
        if (sigismember(&masks[0], number) != sigismember(&masks[1], number)) different.push_back(number);
    EXPECT_EQ(different, std::vector<int>{});
}

} // namespace
} // namespace weft
