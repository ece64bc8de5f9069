#include "sampling.hpp"

#include "notes.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

namespace weft::watch {

namespace {

/// Of processor time. The kernel looks at such timers at its own ticks, so a sample may come later; it stands for the
/// processor time since the one before.
constexpr long period_ns = 1'000'000;
constexpr std::size_t signal_stack_bytes = 64 << 10;

struct sampled_thread {
    timer_t timer{};
    void* stack = MAP_FAILED;
    bool is_sampled = false;

    /// Room for the handler, since the stack of a task may have none.
    void make_signal_stack() noexcept {
        stack_t before{};
        if (sigaltstack(nullptr, &before) != 0 || !(before.ss_flags & SS_DISABLE))
            return; // the program has its own
        stack = mmap(nullptr, signal_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stack == MAP_FAILED) return;
        stack_t own{};
        own.ss_sp = stack;
        own.ss_size = signal_stack_bytes;
        sigaltstack(&own, nullptr);
    }

    ~sampled_thread() {
        if (is_sampled) timer_delete(timer);
        is_sampled = false;
        if (stack == MAP_FAILED) return;
        stack_t current{};
        if (sigaltstack(nullptr, &current) == 0 && current.ss_sp == stack) {
            stack_t none{};
            none.ss_flags = SS_DISABLE;
            sigaltstack(&none, nullptr);
        }
        munmap(stack, signal_stack_bytes);
        stack = MAP_FAILED;
    }
};

thread_local sampled_thread this_thread;
/// What the kernel has done for the calling thread since it began.
struct kernel_work {
    std::uint64_t faults = 0, system_ns = 0;
};

kernel_work kernel_work_of_thread() noexcept {
    rusage usage{};
    if (getrusage(RUSAGE_THREAD, &usage) != 0) return {};
    const auto& t = usage.ru_stime;
    return {static_cast<std::uint64_t>(usage.ru_minflt),
            static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
                static_cast<std::uint64_t>(t.tv_usec) * 1000u};
}

thread_local std::uint64_t seen_ns = 0;
thread_local kernel_work seen_work{};
thread_local volatile bool in_handler = false;

void on_tick(int, siginfo_t*, void* context) {
    const int error = errno;
    if (!in_handler && is_noting()) {
        in_handler = true;
        const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
        const std::uint64_t now = thread_ns();
        const std::uint64_t ns = now - seen_ns;
        seen_ns = now;
        const auto at = static_cast<std::uint64_t>(registers.gregs[REG_RIP]);
        const kernel_work work = kernel_work_of_thread();
        const std::uint32_t place =
            note(state::on_core, take_interrupted_stack(at, __builtin_return_address(0)), ns, 0, no_place);
        note_kernel(place, work.faults - seen_work.faults, work.system_ns - seen_work.system_ns);
        seen_work = work;
        in_handler = false;
    }
    errno = error;
}

} // namespace

bool begin_sampling() noexcept {
    struct sigaction before{};
    if (sigaction(SIGPROF, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return false;
    struct sigaction own{};
    own.sa_sigaction = on_tick;
    own.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&own.sa_mask);
    return sigaction(SIGPROF, &own, nullptr) == 0;
}

void sample_this_thread() noexcept {
    if (!is_noting()) return;
    sampled_thread& me = this_thread;
    sigset_t tick;
    sigemptyset(&tick);
    sigaddset(&tick, SIGPROF);
    pthread_sigmask(SIG_UNBLOCK, &tick, nullptr);
    me.make_signal_stack();
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
    event._sigev_un._tid = gettid();
    itimerspec every{};
    every.it_interval.tv_nsec = every.it_value.tv_nsec = period_ns;
    seen_ns = thread_ns();
    seen_work = kernel_work_of_thread();
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &me.timer) != 0) {
        notes_header().unsampled.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    me.is_sampled = true;
    timer_settime(me.timer, 0, &every, nullptr);
    notes_header().threads.fetch_add(1, std::memory_order_relaxed);
}

} // namespace weft::watch
