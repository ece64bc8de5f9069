#include "engine/threads/preemption/spare_threads.hpp"

#include "engine/process/signal_claim.hpp"
#include "engine/threads/preemption/preempter.hpp"
#include "engine/threads/thread_engine.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::engine {

namespace {

void futex_wait(std::atomic<std::uint32_t>& at, std::uint32_t value) noexcept {
    syscall(SYS_futex, &at, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<std::uint32_t>& at) noexcept {
    syscall(SYS_futex, &at, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

} // namespace

// ---- stopping

void spare_threads::stop(kernel_thread& self) noexcept {
    if (how_ != parking::sigsuspend) return self.stopped.stop([](auto& word) { futex_wait(word, 0); });
    sigset_t tick, until;
    sigemptyset(&tick);
    sigaddset(&tick, tick_signal());
    pthread_sigmask(SIG_BLOCK, &tick, &until); // one that comes from here on ends sigsuspend()
    sigdelset(&until, tick_signal());
    self.stopped.stop([&](auto&) { sigsuspend(&until); });
    pthread_sigmask(SIG_UNBLOCK, &tick, nullptr);
}

void spare_threads::wake(kernel_thread& t) noexcept {
    // `t` may run, end and be joined when it is woken, which leaves no pthread_t: the kernel looks for its number instead. Another
    // thread that has got the number meanwhile takes the signal for a tick.
    const pid_t thread = t.id;
    if (how_ == parking::sigsuspend)
        t.stopped.wake([&](auto&) { syscall(SYS_tgkill, getpid(), thread, tick_signal()); });
    else
        t.stopped.wake([](auto& word) { futex_wake(word); });
}

// ---- pools

kernel_thread* spare_threads::pool::pop() noexcept {
    const std::lock_guard guard(lock);
    kernel_thread* const t = first;
    if (t) first = t->next;
    return t;
}

void spare_threads::pool::push(kernel_thread& t) noexcept {
    t.next = first;
    first = &t;
}

spare_threads::pool& spare_threads::pool_of(const thread_worker& w) noexcept {
    return pools_[how_ == parking::futex_local ? static_cast<std::size_t>(w.id) : 0];
}

kernel_thread* spare_threads::take(thread_worker& w) noexcept {
    kernel_thread* t = pool_of(w).pop();
    if (how_ == parking::futex_local) // else a worker would get none while another one has too many
        for (int i = 0; !t && i < of_.worker_count(); ++i) t = pools_[static_cast<std::size_t>(i)].pop();
    if (t) spare_.fetch_sub(1, std::memory_order_relaxed);
    return t;
}

bool spare_threads::put(kernel_thread& t, thread_worker& from) noexcept {
    pool& to = pool_of(from);
    const std::lock_guard guard(to.lock);
    if (ending_.load(std::memory_order_relaxed)) return false; // relaxed: written under the lock
    // After a burst: each worker needs one at a time, and one more to be ready.
    const bool is_surplus = spare_.load(std::memory_order_relaxed) >= 2 * of_.worker_count() + 2;
    if (is_surplus && !of_.is_own_thread(t)) return false;
    to.push(t);
    spare_.fetch_add(1, std::memory_order_relaxed);
    return true;
}

void spare_threads::put_back(kernel_thread& t, thread_worker& w) noexcept {
    pool& to = pool_of(w);
    const std::lock_guard guard(to.lock);
    to.push(t);
    spare_.fetch_add(1, std::memory_order_relaxed);
}

// ---- making threads

void spare_threads::request(thread_worker& w) noexcept {
    if (!w.wants_thread.exchange(true, std::memory_order_relaxed)) ask();
}

void spare_threads::ask() noexcept {
    requests_.fetch_add(1, std::memory_order_release); // pairs with the load in create_on_request()
    futex_wake(requests_);
}

void* spare_threads::run_creator(void* self) noexcept {
    static_cast<spare_threads*>(self)->create_on_request();
    return nullptr;
}

void spare_threads::create_on_request() noexcept {
    for (;;) {
        const auto seen = requests_.load(std::memory_order_acquire); // pairs with ask()
        for (auto& w : of_.all_workers)
            if (w->wants_thread.load(std::memory_order_relaxed)) {
                create(*w);
                w->wants_thread.store(false, std::memory_order_relaxed); // it may ask again
            }
        reap();
        if (ending_.load(std::memory_order_relaxed)) return; // before the request that it has acquired
        futex_wait(requests_, seen);
    }
}

void spare_threads::create(thread_worker& w) noexcept try {
    // Beside the workers' own: one with each stopped task, a spare one for each worker, and the last one (Y9).
    if (static_cast<int>(made()) > of_.preemption.stopped() + of_.worker_count()) return;
    all_.push_back(std::make_unique<made_thread>());
    made_thread& made = *all_.back();
    made.of = this;
    made.for_worker = &w;
    made_.fetch_add(1, std::memory_order_relaxed);
    // If it fails the worker asks again at its next tick.
    if (pthread_create(&made.joined_by, nullptr, run_made, &made) != 0) {
        made_.fetch_sub(1, std::memory_order_relaxed);
        all_.pop_back();
    }
} catch (const std::bad_alloc&) {} // likewise

void* spare_threads::run_made(void* of) noexcept {
    auto& made = *static_cast<made_thread*>(of);
    spare_threads& all = *made.of;
    all.of_.preemption.serve_as_spare(made.self, *made.for_worker, all.mask_);
    made.has_ended.store(true, std::memory_order_release); // pairs with the load in reap()
    all.ask();
    return nullptr;
}

void spare_threads::reap() noexcept {
    const auto gone = std::ranges::partition(all_, [](const auto& made) {
        return !made->has_ended.load(std::memory_order_acquire); // pairs with the end of run_made()
    });
    for (auto& made : gone) pthread_join(made->joined_by, nullptr);
    made_.fetch_sub(gone.size(), std::memory_order_relaxed);
    all_.erase(gone.begin(), gone.end());
}

// ---- beginning and end

void spare_threads::begin() {
    const auto count = how_ == parking::futex_local ? static_cast<std::size_t>(of_.worker_count()) : 1;
    pools_ = std::make_unique<pool[]>(count);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask_); // the creating thread inherits it
    sigdelset(&mask_, tick_signal());
    const int failure = pthread_create(&creator_, nullptr, run_creator, this);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    if (failure)
        throw error(fmt::format("cannot create the thread that makes threads ({})", std::strerror(failure)),
                    "preemption",
                    "WEFT_PREEMPT=off, or a larger limit of threads or memory for this process");
    has_creator_ = true;
}

void spare_threads::end() noexcept {
    if (!has_creator_) return;
    const std::size_t count = how_ == parking::futex_local ? static_cast<std::size_t>(of_.worker_count()) : 1;
    for (std::size_t i = 0; i < count; ++i) {
        const std::lock_guard guard(pools_[i].lock);
        ending_.store(true, std::memory_order_relaxed); // under each lock: put() refuses from here on
    }
    for (std::size_t i = 0; i < count; ++i)
        while (kernel_thread* const t = pools_[i].pop()) {
            t->worker = nullptr;
            wake(*t);
        }
    ask();
}

void spare_threads::join() noexcept {
    if (!has_creator_) return;
    pthread_join(creator_, nullptr);
    has_creator_ = false;
    for (auto& made : all_) pthread_join(made->joined_by, nullptr);
    all_.clear();
}

} // namespace weft::engine
