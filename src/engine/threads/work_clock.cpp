#include "engine/threads/work_clock.hpp"

#include "engine/threads/rest.hpp"
#include "engine/threads/thread_engine.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <system_error>
#include <thread>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::engine {

work_clock::work_clock(thread_engine& of, time_ns period, action act, void* with, const char* whose,
                       action rests)
    : of_(of)
    , period_(period)
    , act_(act)
    , rests_(rests)
    , with_(with) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // the thread inherits it
    try {
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& failure) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw error(fmt::format("cannot create the thread of {} ({})", whose, failure.what()),
                    fmt::format("one that acts every {} ns", period),
                    "a runtime without it, or a larger limit of threads or memory for this process");
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void work_clock::stop() noexcept {
    if (!thread_.joinable()) return;
    stopping_.store(1, std::memory_order_seq_cst);     // acquired by is_stopping()
    queue::std_sync::fence(std::memory_order_seq_cst); // pairs with that of rest()
    parker_.wake();
    syscall(SYS_futex, &stopping_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    thread_.join();
}

void work_clock::run() noexcept {
    while (!is_stopping()) {
        if (!some_worker_works()) {
            if (rests_) rests_(with_, of_.now());
            rest();
            continue;
        }
        wait_until((of_.now() / period_ + 1) * period_);
        if (!is_stopping() && some_worker_works()) act_(with_, of_.now());
    }
}

bool work_clock::some_worker_works() const noexcept {
    return std::ranges::any_of(of_.all_workers, [](const auto& w) {
        return w->working.load(std::memory_order_seq_cst); // after the fence of rest(): as in S7
    });
}

void work_clock::rest() noexcept {
    rest_unless<queue::std_sync>(parker_, [&] { return some_worker_works() || is_stopping(); });
}

void work_clock::wait_until(time_ns at) noexcept {
    constexpr time_ns second = 1'000'000'000;
    for (time_ns left = 0; (left = at - of_.now()) > 0 && !is_stopping();) {
        const timespec relative{static_cast<time_t>(left / second), static_cast<long>(left % second)};
        syscall(SYS_futex, &stopping_, FUTEX_WAIT_PRIVATE, 0, &relative, nullptr, 0);
    }
}

} // namespace weft::engine
