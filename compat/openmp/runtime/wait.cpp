#include "runtime/wait.hpp"

#include "runtime/current.hpp"

#include "engine/idle/home_tasks.hpp"
#include "engine/ports/meter.hpp"
#include "engine/run/completion.hpp"
#include "engine/run/switch.hpp"
#include "engine/run/tasks.hpp"
#include "engine/threads/futex.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "queue/cache_line.hpp"
#include "queue/spin_lock.hpp"
#include "queue/sync.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace weft::openmp {

namespace {

using engine::worker;
using outcome = engine::completion<>;

std::atomic<std::int64_t> longest_look{5'000}; // nanoseconds

/// A waiting task, or a waiting thread that is no worker. It lies on the stack of the waiter.
struct sleeper {
    const void* address;
    sleeper* next = nullptr; ///< guarded by the lock of the bucket
    outcome told{};
    engine::home_task way{};           ///< of a task
    std::atomic<std::uint32_t> rung{}; ///< of a thread

    explicit sleeper(const void* of) noexcept : address(of) {}
    void sleep() noexcept;
    void sleep_as_thread() noexcept;
};

void sleeper::sleep_as_thread() noexcept {
    if (!told.wait(reinterpret_cast<std::uintptr_t>(this) | 1)) return;
    // acquire: pairs with the store in tell()
    while (rung.load(std::memory_order_acquire) == 0) engine::futex_calls::wait(rung, 0, nullptr, ~0U);
}

void sleeper::sleep() noexcept {
    if (!weft::impl::hot_self()) return sleep_as_thread();
    worker& w = engine::enter_runtime();
    if (told.poll() == outcome::running) {
        task& me = *w.current->running;
        way.of = &me;
        way.home = &w;
        if (w.slow) [[unlikely]]
            w.meter.waits_for(w, "OpenMP", address);
        if (me.silent_) engine::expose_all(w);
        engine::suspend(
            w, ready_reason::unblocked,
            [](worker& at, void* s, void* t) {
                // From here on it may be told, and sent home.
                if (!static_cast<sleeper*>(s)->told.wait(reinterpret_cast<std::uintptr_t>(s)))
                    at.resume_first = static_cast<task*>(t);
            },
            this, &me);
    }
    engine::leave_runtime();
}

/// The sleeper may return, and be gone, from the exchange on if it did not sleep yet; else from the last line on.
void tell(sleeper& s) noexcept {
    const auto asleep = s.told.finish(false);
    if (asleep == 0) return;
    if ((asleep & 1) == 0) return engine::send_home(s.way);
    auto& bell = s.rung;
    bell.store(1, std::memory_order_release); // pairs with the load in sleep_as_thread()
    engine::futex_calls::wake_one(bell, ~0U); // of an address; the word may be gone
}

struct alignas(queue::k_cache_line_bytes) bucket {
    engine::without_ticks<queue::spin_lock<>> lock{};
    std::atomic<int> count{0}; ///< sleepers in the list, or about to be; added before the last look (W1)
    sleeper* first = nullptr;  ///< guarded by the lock
    sleeper* last = nullptr;

    void push(sleeper& s) noexcept {
        (first ? last->next : first) = &s;
        last = &s;
    }
    /// Takes the sleepers that wait for the address, in their order.
    sleeper* take(const void* address) noexcept;
};

sleeper* bucket::take(const void* address) noexcept {
    sleeper *taken = nullptr, **end = &taken, *kept_last = nullptr;
    sleeper** at = &first;
    while (sleeper* const s = *at) {
        if (s->address != address) {
            kept_last = s;
            at = &s->next;
            continue;
        }
        *at = s->next;
        s->next = nullptr;
        *end = s;
        end = &s->next;
        count.fetch_sub(1, std::memory_order_relaxed); // under the lock; the sleeper is told in any case
    }
    last = kept_last;
    return taken;
}

constexpr std::size_t log2_buckets = 8;
std::array<bucket, std::size_t{1} << log2_buckets> buckets{};

bucket& bucket_of(const void* address) noexcept {
    constexpr std::uint64_t golden = 0x9e37'79b9'7f4a'7c15; // 2^64 / the golden ratio: spreads addresses
    return buckets[(reinterpret_cast<std::uintptr_t>(address) * golden) >> (64 - log2_buckets)];
}

} // namespace

bool impl::look(condition done, void* of) {
    using clock = std::chrono::steady_clock;
    constexpr int looks_per_clock_reading = 32;
    const std::chrono::nanoseconds limit(longest_look.load(std::memory_order_relaxed)); // set at the start
    if (limit.count() == 0) return false;
    for (const auto since = clock::now(); clock::now() - since < limit;)
        for (int i = 0; i < looks_per_clock_reading; ++i) {
            if (done(of)) return true;
            queue::std_sync::pause();
        }
    return false;
}

void set_patience(std::chrono::nanoseconds d) noexcept {
    longest_look.store(d.count(), std::memory_order_relaxed); // before any wait
}

void impl::wait_until(const void* address, condition done, void* of, patience p) {
    if (p == patience::some && look(done, of)) return;
    context* const here = context_of_caller();
    bucket& b = bucket_of(address);
    for (bool is_done = false; !is_done;) {
        sleeper me(address);
        {
            b.count.fetch_add(
                1, std::memory_order_seq_cst); // before the last look: pairs with the fence in wake_all()
            const std::lock_guard guard(b.lock);
            if ((is_done = done(of)))
                b.count.fetch_sub(1, std::memory_order_relaxed);
            else
                b.push(me);
        }
        if (is_done) break;
        me.sleep();
        resume_context(here); // other tasks have run on this thread
        is_done = done(of);
    }
}

void wake_all(const void* address) noexcept {
    bucket& b = bucket_of(address);
    queue::std_sync::fence(std::memory_order_seq_cst);        // after the caller's change (W1)
    if (b.count.load(std::memory_order_relaxed) == 0) return; // relaxed: after the fence
    sleeper* s = nullptr;
    {
        const std::lock_guard guard(b.lock);
        s = b.take(address);
    }
    const weft::impl::tick_hold here; // of the lock in send_home()
    while (s) {
        sleeper* const next = s->next; // before it is told
        tell(*s);
        s = next;
    }
}

} // namespace weft::openmp
