#include "engine/threads/speeds/pacer.hpp"

#include "engine/process/process.hpp"
#include "engine/process/signal_claim.hpp"
#include "engine/threads/reached.hpp"
#include "engine/threads/thread_engine.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <mutex>
#include <utility>

#include <unistd.h>

namespace weft::engine {

namespace {

/// Not a real-time signal: those queue, and of this one at most one waits for a thread.
constexpr int pause_signal = SIGVTALRM;
constinit signal_claim pacing_claim(pause_signal);
constinit int pacing_engines = 0; // guarded by process_lock()

void pause_or_forward(int, siginfo_t* info, void* context) {
    const int saved_errno = errno;
    if (info->si_code != SI_TKILL || info->si_pid != getpid())
        pacing_claim.forward(info, context);
    else if (worker* const w = impl::hot_self()) // else it comes too late
        if (auto& e = static_cast<thread_engine&>(w->engine); e.pace)
            e.pace->pause(static_cast<thread_worker&>(*w));
    errno = saved_errno;
}

void forget_pacing_after_fork() {
    pacing_engines = 0;
    pacing_claim.give_back();
}

/// Registered when the library is loaded; dlclose() undoes it.
[[maybe_unused]] const int pacing_ends_with_a_fork =
    pthread_atfork(nullptr, nullptr, forget_pacing_after_fork);

constexpr time_ns one_second = 1'000'000'000;
time_ns in_ns(const timespec& t) noexcept { return t.tv_sec * one_second + t.tv_nsec; }

time_ns own_cpu_time() noexcept {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return in_ns(t);
}

} // namespace

pacer::pacer(thread_engine& of, const emulated_speeds& speeds)
    : of_(of)
    , speeds_(speeds)
    , last_(of.all_workers.size())
    , clock_(
          of, period, [](void* p, time_ns now) { static_cast<pacer*>(p)->look(now); }, this,
          "the emulated speeds") {
    const std::lock_guard guard(process_lock());
    if (pacing_engines++ == 0) pacing_claim.take(pause_or_forward, SA_RESTART);
}

pacer::~pacer() {
    clock_.stop();
    const std::lock_guard guard(process_lock());
    if (--pacing_engines == 0) pacing_claim.give_back();
}

void pacer::allow_signal() noexcept {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, pause_signal);
    pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
}

double pacer::share_of(const thread_worker& w) const noexcept { // of its place (V3)
    return speeds_.shares[static_cast<std::size_t>(w.core())];
}

void pacer::wait_until(time_ns due) noexcept {
    const timespec until{static_cast<time_t>(due / one_second), static_cast<long>(due % one_second)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {}
}

void pacer::charge(thread_worker& w) noexcept {
    const auto last = w.duty.charge(of_.now(), own_cpu_time(), share_of(w));
    w.count.paced.add(static_cast<std::uint64_t>(last.passed));
    w.count.used.add(static_cast<std::uint64_t>(last.used));
}

void pacer::thread_comes(thread_worker& w) noexcept {
    w.duty.thread_comes(of_.now(), own_cpu_time(), share_of(w));
}

void pacer::work_begins(thread_worker& w) noexcept {
    clock_.work_begins();
    const time_ns now = of_.now();
    w.duty.work_begins(now, own_cpu_time(), share_of(w));
    if (w.duty.due() - now >= shortest_pause) wait_until(w.duty.due());
}

/// What a stretch in the runtime or under a lock of the library has used, the next signal finds (V1).
void pacer::pause(thread_worker& w) noexcept {
    if (impl::weft_hot.in_runtime.load(std::memory_order_relaxed) ||
        impl::weft_hot.holds.load(std::memory_order_relaxed) > 0)
        return;
    charge(w);
    if (w.duty.due() - of_.now() >= shortest_pause) wait_until(w.duty.due());
}

void pacer::signal_if_it_runs(thread_worker& w, time_ns now) noexcept {
    const reached at(w);
    if (at->hot->in_runtime.load(std::memory_order_relaxed)) return; // a hint: the handler looks again
    clockid_t clock{};
    timespec cpu{};
    if (pthread_getcpuclockid(at->thread, &clock) != 0 || clock_gettime(clock, &cpu) != 0) return;
    const seen before = std::exchange(last_[static_cast<std::size_t>(w.id)], {at->thread, in_ns(cpu), now});
    const double may_use = share_of(w) * static_cast<double>(now - before.at);
    const bool is_the_same = pthread_equal(before.thread, at->thread) != 0;
    // A thread that uses less owes nothing: it waits in the system, or pauses. A signal would only interrupt it (V4).
    if (is_the_same && static_cast<double>(in_ns(cpu) - before.cpu) < may_use / 2) return;
    signals_.fetch_add(1, std::memory_order_relaxed);
    pthread_kill(at->thread, pause_signal);
}

void pacer::look(time_ns now) noexcept {
    if (!begun_.load(std::memory_order_acquire)) return; // pairs with begin()
    for (const auto& w : of_.all_workers)
        if (share_of(*w) < 1 && w->working.load(std::memory_order_relaxed)) signal_if_it_runs(*w, now);
}

} // namespace weft::engine
