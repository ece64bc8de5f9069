#include "engine/worker/skip_watch.hpp"

#include <weft/error.hpp>

#include <csignal>
#include <ctime>
#include <mutex>
#include <system_error>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::engine {

skip_watch::skip_watch() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // the program's signals are not for this thread
    try {
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& failure) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw error("cannot create a thread for the profile", failure.what(),
                    "a larger limit of threads or memory for this process");
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread_.native_handle(), "weft-profile");
}

skip_watch::~skip_watch() {
    stop_.store(1, std::memory_order_release); // pairs with run()
    syscall(SYS_futex, &stop_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    thread_.join();
}

void skip_watch::begins(std::atomic<std::uintptr_t>& limit) noexcept {
    const std::lock_guard held(lock_);
    limit_ = &limit;
    ++begun_;
    asks_.store(false, std::memory_order_relaxed);
}

void skip_watch::ends() noexcept {
    const std::lock_guard held(lock_);
    limit_ = nullptr;
}

void skip_watch::run() noexcept {
    constexpr timespec between{.tv_sec = 0, .tv_nsec = 1'000'000};
    std::uint64_t seen = 0;
    while (stop_.load(std::memory_order_acquire) == 0) { // pairs with the destructor
        {
            const std::lock_guard held(lock_);
            if (limit_ && begun_ == seen) {
                asks_.store(true, std::memory_order_relaxed);
                limit_->store(0, std::memory_order_relaxed);
            }
            seen = begun_;
        }
        syscall(SYS_futex, &stop_, FUTEX_WAIT_PRIVATE, 0, &between, nullptr, 0);
    }
}

} // namespace weft::engine
