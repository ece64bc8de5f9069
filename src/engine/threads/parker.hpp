#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace weft::engine {

/// Where one worker sleeps, and which thread runs it: its own, or an external one that has taken its place.
/// The thread that runs the worker, the *occupant*, uses the first group of functions. A wake() may precede
/// sleep(), which then returns at once. wake() is callable in a signal handler.
///
///   arm()            the occupant: from here on a wake() is remembered
///   sleep()          the occupant: until a wake() since arm()
///   disarm()         the occupant: a wake() does nothing any more
///   wake()           any thread: wakes the occupant
///
///   sleep_vacant()   the own thread, armed: until a wake() since arm(); false: the time is over. Meanwhile an
///                    external thread may take the place; then until it has left and woken this thread.
///   take_place()     an external thread: true if the own thread slept so. It goes on sleeping.
///   leave_asleep()   the external occupant, armed: the own thread is asleep in the place again. False if a
///                    wake() since arm() came first.
///   leave_awake()    the external occupant, not armed: the own thread continues.
///
///   word     | occupant | written by
///   awake    | own      | disarm(), wake(), leave_awake(); sleep_vacant() when its time is over
///   armed    | own      | arm()
///   vacant   | none     | sleep_vacant(), leave_asleep()
///   external | external | take_place(), disarm(), wake()
///   armed and external  | arm()
///
/// `Calls` are the system calls: futex_calls, or those of the model check, which runs the same steps.
template <class Sync, class Calls>
class parker {
public:
    // seq_cst, before the last look: idle/README.md, "Sleep", step 1
    void arm() noexcept { word_.store(occupant() | armed, std::memory_order_seq_cst); }
    void sleep() noexcept {
        const std::uint32_t own = occupant();
        while (word_.load(std::memory_order_acquire) == (own | armed)) // pairs with the exchange in wake()
            Calls::wait(word_, own | armed, nullptr, own ? for_external : for_own);
    }
    void disarm() noexcept { word_.store(occupant(), std::memory_order_relaxed); }
    /// True if the occupant slept or was about to.
    bool wake() noexcept {
        std::uint32_t now = word_.load(std::memory_order_relaxed);
        do {
            if (!(now & (armed | vacant))) return false;
            // release: what the waker wrote before, for the loads of the sleepers. acquire: take_place() and
            // the other wakers come before or after, and the last of them wakes the thread that the word
            // names.
        } while (!word_.compare_exchange_strong(now, now & external, std::memory_order_acq_rel,
                                                std::memory_order_relaxed));
        Calls::wake_one(word_, now & external ? for_external : for_own);
        return true;
    }

    bool sleep_vacant(std::chrono::nanoseconds at_most) noexcept {
        std::uint32_t now = armed;
        // release: the state of the worker, for take_place(). acquire: pairs with the exchange in wake()
        if (!word_.compare_exchange_strong(now, vacant, std::memory_order_acq_rel, std::memory_order_acquire))
            return true;
        for (const bool for_ever = at_most == std::chrono::nanoseconds::max();;) {
            timespec until{};
            if (!for_ever) { // the calls want a point in time, on this clock
                clock_gettime(CLOCK_MONOTONIC, &until);
                const auto ns = until.tv_nsec + at_most.count();
                until.tv_sec += ns / 1'000'000'000;
                until.tv_nsec = ns % 1'000'000'000;
            }
            // acquire: pairs with the exchange in wake() and the store in leave_awake()
            if ((now = word_.load(std::memory_order_acquire)) == awake) return true;
            Calls::wait(word_, now, for_ever ? nullptr : &until, for_own);
            now = vacant;
            if (!for_ever && is_over(until) &&
                word_.compare_exchange_strong(now, awake, std::memory_order_acquire,
                                              std::memory_order_relaxed))
                return false; // acquire: as above, for what an external thread has left
        }
    }
    bool take_place() noexcept {
        std::uint32_t now = vacant;
        if (word_.load(std::memory_order_relaxed) != vacant) return false;
        // acquire: the state of the worker, as its last occupant has left it
        return word_.compare_exchange_strong(now, external, std::memory_order_acq_rel,
                                             std::memory_order_relaxed);
    }
    bool leave_asleep() noexcept {
        std::uint32_t now = external | armed;
        // release: the state of the worker, for its next occupant
        return word_.compare_exchange_strong(now, vacant, std::memory_order_acq_rel,
                                             std::memory_order_relaxed);
    }
    void leave_awake() noexcept {
        word_.store(awake, std::memory_order_release); // as in leave_asleep()
        Calls::wake_one(word_, for_own);
    }

private:
    static constexpr std::uint32_t awake = 0, armed = 1, vacant = 2, external = 4;
    // Both threads wait at the one word, since its value decides; a waker names the one that it means.
    static constexpr std::uint32_t for_own = 1, for_external = 2;

    static bool is_over(const timespec& until) noexcept {
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec);
    }

    std::uint32_t occupant() const noexcept { return word_.load(std::memory_order_relaxed) & external; }

    typename Sync::template atomic<std::uint32_t> word_{awake};
};

} // namespace weft::engine
