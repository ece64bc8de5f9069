#pragma once

#include <weft/impl/announce.hpp>
#include <weft/impl/hot.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weft::engine {
struct wait_list;
}

namespace weft::impl {

class wait_queue;

/// The duration rounded up, and limited so that it can be added to a clock.
template <class Rep, class Period>
constexpr std::chrono::nanoseconds at_most(std::chrono::duration<Rep, Period> d) {
    constexpr std::chrono::hours longest(24 * 365 * 100);
    return d < longest ? std::chrono::ceil<std::chrono::nanoseconds>(d) : std::chrono::nanoseconds(longest);
}

/// A caller that waits for an event: a task, which is suspended with its stack, or a thread that is no
/// worker, which is blocked. It lives on the stack of the caller:
///
///     q.lock();  if (nothing to wait for) {...}  waiter me;  q.push(me);  q.unlock();  me.sleep();
///
/// W1  A waiter is in at most one queue. The thread that removes it (pop, remove), under the queue's lock,
/// wakes
///     it exactly once; no other thread wakes it.
/// W2  wake() may come before sleep(), which then returns at once. After the waiter was told, no thread
/// touches
///     it, and no thread touches the queue after unlock(): either may be gone.
class waiter {
public:
    /// `for_what`: a literal, for reports of what tasks wait for. `caller`: identifies the waiting task or
    /// thread to the object that it waits for.
    explicit waiter(const char* for_what, std::uintptr_t caller = 0) noexcept
        : caller_(caller)
        , for_what_(for_what) {}
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

    /// Returns when it was woken.
    void sleep() noexcept;
    std::uintptr_t caller() const noexcept { return caller_; }
    /// Sleeps for at most the duration. Returns false if it was not woken by then; it is then no longer in
    /// the queue. Throws weft::error if the system provides no timer; it has then left the queue, too.
    bool sleep_for(wait_queue& in, std::chrono::nanoseconds);

private:
    friend class wait_queue;
    friend struct engine::wait_list;

    waiter *next_ = nullptr, *previous_ = nullptr; // guarded by the queue's lock
    bool queued_ = false;                          // likewise
    std::uintptr_t told_ = 0;                      // storage of a completion, see engine/run/completion.hpp
    void* home_ = nullptr;                         // engine of the task, written before it can be woken
    const std::uintptr_t caller_;
    const char* const for_what_;
    const wait_queue* in_ = nullptr; // it was last pushed into
};

/// The caller locks a mutex that it holds already. Says so and ends the program with status 1, except on a modelled
/// machine, whose report of the deadlock names all tasks that wait.
void report_relock() noexcept;

/// Number of engines whose policy is told of locks (requirements::locks), which are models. relaxed: a program makes the
/// engine before it locks anything there.
extern constinit std::atomic<int> lock_watchers;
inline bool locks_are_watched() noexcept { return lock_watchers.load(std::memory_order_relaxed) != 0; }
enum class lock_event : std::uint8_t { waits, taken, released };
/// Tells the policy of the calling task, if it is one that is told. Called without the queue's lock.
[[gnu::cold]] void tell_of_lock(const void* lock, lock_event) noexcept;

/// Wakes a list of waiters that pop() or pop_all() has returned (null: none). Called without the queue's
/// lock.
void wake(waiter* list) noexcept;

/// The waiters for one event, first come, first served, and the lock of the object that they wait for. The
/// lock spins: it is held for a few instructions only, never across a wait or a call of user code.
class wait_queue {
public:
    wait_queue() noexcept = default;
    wait_queue(const wait_queue&) = delete;
    wait_queue& operator=(const wait_queue&) = delete;

    [[gnu::always_inline]] void lock() noexcept {
        acquire_lock();
        happens_after(this);
    }
    /// Locks, and returns a word that identifies the caller. The word is not 0, and is the same in all calls
    /// of one task, or of one thread that is no worker.
    [[gnu::always_inline]] std::uintptr_t lock_as_caller() noexcept {
        const std::uintptr_t caller = acquire_lock_as_caller();
        happens_after(this);
        return caller;
    }
    [[gnu::always_inline]] void unlock() noexcept {
        happens_before(this);
        __atomic_store_n(&lock_, 0U, __ATOMIC_RELEASE); // pairs with the exchange that takes the lock
        hot_unhold();
    }

    // ---- under the lock
    bool empty() const noexcept { return !first_; }
    void push(waiter&) noexcept;
    waiter* pop() noexcept;     ///< the first waiter, as a list of one; null if there is none
    waiter* pop_all() noexcept; ///< all waiters, as a list

    /// Takes the lock. True if `w` was in the queue: then no thread will wake it.
    bool remove(waiter& w) noexcept;

private:
    friend struct engine::wait_list;

    void acquire_lock() noexcept;
    std::uintptr_t acquire_lock_as_caller() noexcept;

    std::uint32_t lock_ = 0; // storage of a queue::spin_lock
    waiter *first_ = nullptr, *last_ = nullptr;
};

} // namespace weft::impl
