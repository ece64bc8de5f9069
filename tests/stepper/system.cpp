// The stepper, and the system as the threads of a run see it. The functions of the C library that are defined
// here replace the library's own in the whole executable, the C++ library included. Threads that are not in a
// run get the real ones.
#include "stepper.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace weft::stepper {

namespace {

template <class F>
F* real(const char* name) {
    void* const found = dlsym(RTLD_NEXT, name);
    if (!found) std::abort();
    return reinterpret_cast<F*>(found);
}
#define WEFT_REAL(name) static auto* const theirs = real<decltype(::name)>(#name);

constexpr std::int64_t step_ns = 100;
constexpr std::int64_t never = INT64_MAX;

struct thread {
    int id = 0;
    pthread_t handle{};
    void* (*main)(void*) = nullptr;
    void* argument = nullptr;
    void* result = nullptr;
    bool ready = true, ended = false;
    const void* waits_for = nullptr; ///< address of a mutex, condition variable, futex word, or thread
    const char* how = "";
    std::int64_t until = never;
    bool timed_out = false;
    std::uint32_t bits = ~0u; ///< of a futex: which wake-ups reach it
    int signal = 0;           ///< sent and not yet delivered
    std::uint32_t turn = 0;   ///< futex word: 1: this thread runs
};

struct course {
    std::mt19937_64 random;
    std::uint64_t seed = 0, most = 0;
    unsigned one_in = 2; ///< how often the running thread is changed
    schedule so_far;
    std::int64_t now = 0;
    std::vector<std::unique_ptr<thread>> threads;
    std::vector<std::pair<const void*, thread*>> owners; ///< of mutexes that are held
};

course* run_now = nullptr;
std::function<std::string()> description;
thread_local constinit thread* self = nullptr;

// Not inlined: a fiber may have moved to another thread since the address of `self` was taken.
[[gnu::noinline]] thread* me() noexcept {
    asm volatile("" ::: "memory");
    return self;
}

long futex(std::uint32_t* word, int operation, std::uint32_t value) noexcept {
    long result;
    register long a10 asm("r10") = 0;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(static_cast<long>(SYS_futex)), "D"(word), "S"(operation), "d"(value), "r"(a10)
                 : "rcx", "r11", "memory");
    return result;
}

void wait_for_turn(thread& t) noexcept {
    while (__atomic_load_n(&t.turn, __ATOMIC_ACQUIRE) == 0) futex(&t.turn, FUTEX_WAIT_PRIVATE, 0);
}

[[noreturn]] void give_up(const char* ready_reason) noexcept {
    std::fprintf(stderr, "stepper: %s; seed %llu, step %llu\n", ready_reason,
                 static_cast<unsigned long long>(run_now->seed),
                 static_cast<unsigned long long>(run_now->so_far.steps));
    for (const auto& t : run_now->threads)
        std::fprintf(stderr, "  thread %d: %s%s %p\n", t->id,
                     t->ended   ? "ended"
                     : t->ready ? "ready"
                                : "waits: ",
                     t->ready ? "" : t->how, t->waits_for);
    self = nullptr; // no steps any more
    if (description) std::fputs(description().c_str(), stderr);
    std::abort();
}

void make_ready(thread& t, bool timed_out) noexcept {
    t.ready = true;
    t.waits_for = nullptr;
    t.until = never;
    t.timed_out = timed_out;
}

/// Draws a thread that can continue; time passes until there is one.
thread& draw() noexcept {
    course& c = *run_now;
    for (;;) {
        int candidates = 0;
        std::int64_t soonest = never;
        for (const auto& t : c.threads) {
            if (t->ended) continue;
            if (!t->ready && t->until <= c.now) make_ready(*t, true);
            candidates += t->ready;
            if (!t->ready) soonest = std::min(soonest, t->until);
        }
        if (candidates > 0) {
            auto which = static_cast<int>(c.random() % static_cast<unsigned>(candidates));
            for (const auto& t : c.threads)
                if (!t->ended && t->ready && which-- == 0) return *t;
        }
        if (soonest == never) give_up("no thread can go on");
        c.now = soonest;
    }
}

void hand_to(thread& next) noexcept {
    thread& t = *me();
    if (&next == &t) return;
    ++run_now->so_far.switches;
    __atomic_store_n(&t.turn, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&next.turn, 1, __ATOMIC_RELEASE);
    futex(&next.turn, FUTEX_WAKE_PRIVATE, 1);
    if (!t.ended) wait_for_turn(t);
}

void deliver(thread& t) noexcept {
    WEFT_REAL(pthread_kill)
    if (const int s = std::exchange(t.signal, 0)) theirs(t.handle, s); // to itself: handled before it returns
}

/// Makes the calling thread wait; false if the time limit came first.
bool block(const void* on_what, const char* how, std::int64_t until = never,
           std::uint32_t bits = ~0u) noexcept {
    thread& t = *me();
    t.bits = bits;
    t.ready = false;
    t.waits_for = on_what;
    t.how = how;
    t.until = until;
    hand_to(draw());
    deliver(*me());
    return !me()->timed_out;
}

/// Wakes at most `n` of the threads that wait for it, with one of these bits, drawn at random.
int wake(const void* what, int n, std::uint32_t bits = ~0u) noexcept {
    course& c = *run_now;
    int woken = 0;
    for (; woken < n; ++woken) {
        std::vector<thread*> waiting;
        for (const auto& t : c.threads)
            if (!t->ready && t->waits_for == what && (t->bits & bits)) waiting.push_back(t.get());
        if (waiting.empty()) break;
        make_ready(*waiting[c.random() % waiting.size()], false);
    }
    return woken;
}

std::pair<const void*, thread*>* owner_of(const void* mutex) noexcept {
    for (auto& o : run_now->owners)
        if (o.first == mutex) return &o;
    return nullptr;
}

void lock(const void* mutex) noexcept {
    step(20);
    while (owner_of(mutex)) block(mutex, "a mutex");
    run_now->owners.emplace_back(mutex, me());
}

void unlock(const void* mutex) noexcept {
    std::erase_if(run_now->owners, [&](const auto& o) { return o.first == mutex; });
    wake(mutex, 1);
    step(21);
}

std::int64_t in_ns(const timespec& t) noexcept { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; }

void* thread_main(void* t) {
    self = static_cast<thread*>(t);
    wait_for_turn(*self);
    thread& mine = *self;
    void* const result = mine.main(mine.argument);
    mine.result = result;
    mine.ended = true;
    wake(&mine, INT32_MAX);
    hand_to(draw());
    return result;
}

thread* find(pthread_t handle) noexcept {
    for (const auto& t : run_now->threads)
        if (pthread_equal(t->handle, handle)) return t.get();
    return nullptr;
}

} // namespace

void describe_by(std::function<std::string()> f) { description = std::move(f); }

bool on() noexcept { return me() != nullptr; }

void step(std::uint32_t what) noexcept {
    thread* t = me();
    if (!t) return;
    course& c = *run_now;
    ++c.so_far.steps;
    c.now += step_ns;
    c.so_far.hash = (c.so_far.hash ^ (static_cast<std::uint64_t>(t->id) << 32 | what)) * 0x100000001b3u;
    if (c.so_far.steps > c.most) give_up("too many steps");
    if (c.random() % c.one_in == 0) hand_to(draw());
    deliver(*me());
}

void give_way() noexcept {
    if (!me()) return;
    step(30);
    hand_to(draw());
    deliver(*me());
}

schedule run(std::uint64_t seed, const std::function<void()>& body, std::uint64_t most) {
    course c;
    c.random.seed(seed);
    c.seed = seed;
    c.most = most;
    constexpr unsigned rates[] = {2, 5, 20, 100};
    c.one_in = rates[seed % std::size(rates)];
    c.threads.push_back(std::make_unique<thread>());
    thread& first = *c.threads.back();
    first.handle = pthread_self();
    first.turn = 1;
    run_now = &c;
    self = &first;
    body();
    for (const auto& t : c.threads)
        if (t.get() != &first && !t->ended) give_up("a thread has not ended");
    self = nullptr;
    run_now = nullptr;
    return c.so_far;
}

} // namespace weft::stepper

// ---- the system

using namespace weft::stepper;

extern "C" {

int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
    WEFT_REAL(pthread_create)
    if (!on()) return theirs(handle, attributes, start, argument);
    auto t = std::make_unique<thread>();
    t->id = static_cast<int>(run_now->threads.size());
    t->main = start;
    t->argument = argument;
    const int failure = theirs(&t->handle, attributes, thread_main, t.get());
    if (failure) return failure;
    *handle = t->handle;
    run_now->threads.push_back(std::move(t));
    step(10);
    return 0;
}

int pthread_join(pthread_t handle, void** result) {
    WEFT_REAL(pthread_join)
    thread* const t = on() ? find(handle) : nullptr;
    if (t) {
        step(11);
        while (!t->ended) block(t, "the end of a thread");
        t->handle = {};
    }
    return theirs(handle, result);
}

int pthread_kill(pthread_t handle, int signal) {
    WEFT_REAL(pthread_kill)
    thread* const t = on() ? find(handle) : nullptr;
    if (!t) return theirs(handle, signal);
    if (t->ended) return ESRCH;
    t->signal = signal;
    // A system call that waits ends early; a condition variable or mutex does not.
    step(12);
    return 0;
}

int pthread_mutex_lock(pthread_mutex_t* m) {
    WEFT_REAL(pthread_mutex_lock)
    return on() ? (lock(m), 0) : theirs(m);
}
int pthread_mutex_trylock(pthread_mutex_t* m) {
    WEFT_REAL(pthread_mutex_trylock)
    if (!on()) return theirs(m);
    step(22);
    if (owner_of(m)) return EBUSY;
    return lock(m), 0;
}
int pthread_mutex_unlock(pthread_mutex_t* m) {
    WEFT_REAL(pthread_mutex_unlock)
    return on() ? (unlock(m), 0) : theirs(m);
}

static int wait_on(pthread_cond_t* c, pthread_mutex_t* m, std::int64_t until) {
    std::erase_if(run_now->owners, [&](const auto& o) { return o.first == m; });
    wake(m, 1);
    const bool woken = block(c, "a condition", until);
    while (owner_of(m)) block(m, "a mutex");
    run_now->owners.emplace_back(m, me());
    return woken ? 0 : ETIMEDOUT;
}
int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
    WEFT_REAL(pthread_cond_wait)
    return on() ? wait_on(c, m, never) : theirs(c, m);
}
int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* until) {
    WEFT_REAL(pthread_cond_timedwait)
    return on() ? wait_on(c, m, in_ns(*until)) : theirs(c, m, until);
}
int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock, const timespec* until) {
    WEFT_REAL(pthread_cond_clockwait)
    return on() ? wait_on(c, m, in_ns(*until)) : theirs(c, m, clock, until);
}
int pthread_cond_signal(pthread_cond_t* c) {
    WEFT_REAL(pthread_cond_signal)
    if (!on()) return theirs(c);
    wake(c, 1);
    step(23);
    return 0;
}
int pthread_cond_broadcast(pthread_cond_t* c) {
    WEFT_REAL(pthread_cond_broadcast)
    if (!on()) return theirs(c);
    wake(c, INT32_MAX);
    step(24);
    return 0;
}

int sched_yield() {
    WEFT_REAL(sched_yield)
    return on() ? (give_way(), 0) : theirs();
}

int sched_getcpu() {
    WEFT_REAL(sched_getcpu)
    return on() ? static_cast<int>(run_now->random() % 4) : theirs();
}

int clock_gettime(clockid_t clock, timespec* now) {
    WEFT_REAL(clock_gettime)
    if (!on()) return theirs(clock, now);
    step(31);
    now->tv_sec = run_now->now / 1'000'000'000;
    now->tv_nsec = run_now->now % 1'000'000'000;
    return 0;
}

/// The futex calls of the sleepers and of the C++ library's waits on atomics; all else goes to the kernel.
long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a[6];
    for (long& x : a) x = va_arg(list, long);
    va_end(list);
    using call = long(long, long, long, long, long, long, long);
    static auto* const theirs = reinterpret_cast<call*>(dlsym(RTLD_NEXT, "syscall"));
    if (number != SYS_futex || !on()) return theirs(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    auto* const word = reinterpret_cast<std::uint32_t*>(a[0]);
    const auto operation = a[1] & FUTEX_CMD_MASK;
    step(40);
    const auto bits = operation == FUTEX_WAKE_BITSET || operation == FUTEX_WAIT_BITSET
                          ? static_cast<std::uint32_t>(a[5])
                          : ~0u;
    if (operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET)
        return wake(word, static_cast<int>(a[2]), bits);
    if (*word != static_cast<std::uint32_t>(a[2])) {
        errno = EAGAIN;
        return -1;
    }
    const auto* const limit = reinterpret_cast<const timespec*>(a[3]);
    const std::int64_t until = !limit                           ? never
                               : operation == FUTEX_WAIT_BITSET ? in_ns(*limit)
                                                                : run_now->now + in_ns(*limit);
    if (block(word, "a futex", until, bits)) return 0;
    errno = ETIMEDOUT;
    return -1;
}
}
