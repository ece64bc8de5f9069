#pragma once

#include "queue/sync.hpp"

#include <weft/impl/hot.hpp>

#include <atomic>
#include <cstdint>

namespace weft::engine {

/// The word in which one worker, the asker, receives a hidden entry of another. It decides every race between
/// the asker, the workers that answer, and an owner that wants its entry back:
///
///   value                | written by                            | from
///   idle                 | asker (take, withdraw)                | anything
///                        | owner of the entry (reclaim)          | exactly that entry
///   asking v in a        | asker                                 | idle
///   asking anybody of a  | asker                                 | idle
///   an entry             | worker v, or its signal handler,      | asking v in a, asking anybody of a
///                        | while v is in a                       |
///
/// The arena a is part of the word: who answers late, to somebody who has changed arenas and asks again,
/// fails.
///
/// A1 An entry is in at most one slot; who takes the word away from it owns the entry.
/// A2 After withdraw() returned null nobody writes the slot until the next ask.
/// A3 What a worker keeps for the asker beside the entry may be written by who has seen is_asked(): the asker
///    is done with what that worker gave it before.
/// Entries are aligned to 8, so the low bits tell an ask from an answer.
template <class Sync = queue::std_sync>
class ask_slot {
public:
    using word = std::uintptr_t;

    /// Asker. The slot is idle.
    void ask(int victim, unsigned arena = 0) noexcept { store(asking(victim, arena)); }
    void ask_anybody(unsigned arena = 0) noexcept { store(asking_anybody(arena)); }

    /// Victim: whether the asker still wants something of it.
    bool is_asked(int victim, unsigned arena = 0) const noexcept {
        const word now = word_.load(std::memory_order_acquire); // pairs with the release in store() (A3)
        return now == asking(victim, arena) || now == asking_anybody(arena);
    }
    /// Victim: the entry goes to the asker, unless it has stopped asking this worker. All of the entry is
    /// written before.
    bool answer(int victim, impl::frame* entry, unsigned arena = 0) noexcept {
        word expected = word_.load(std::memory_order_relaxed); // only a guess for the exchange
        if (expected != asking(victim, arena) && expected != asking_anybody(arena)) return false;
        // release: the entry's fields, for take(). acquire: the asker armed its bed before it asked
        return word_.compare_exchange_strong(expected, reinterpret_cast<word>(entry),
                                             std::memory_order_acq_rel, std::memory_order_relaxed);
    }

    /// Asker: the answer, or null; goes on asking if there is none.
    impl::frame* take() noexcept {
        word expected = word_.load(std::memory_order_relaxed); // only a guess for the exchange
        if (!is_entry(expected)) return nullptr;
        // acquire: pairs with the release in answer(). It fails if the owner took the entry back (A1).
        if (!word_.compare_exchange_strong(expected, idle, std::memory_order_acquire,
                                           std::memory_order_relaxed))
            return nullptr;
        return reinterpret_cast<impl::frame*>(expected);
    }

    /// Asker: stops asking (A2). An answer that came first is returned and must be run.
    impl::frame* withdraw() noexcept {
        // acquire: pairs with the release in answer()
        const word before = word_.exchange(idle, std::memory_order_acquire);
        return is_entry(before) ? reinterpret_cast<impl::frame*>(before) : nullptr;
    }

    /// Owner: true if the entry it had answered with is its own again.
    bool reclaim(impl::frame* entry) noexcept {
        word expected = reinterpret_cast<word>(entry); // relaxed: the owner wrote all there is to read
        return word_.compare_exchange_strong(expected, idle, std::memory_order_relaxed,
                                             std::memory_order_relaxed);
    }

    bool is_idle() const noexcept { return word_.load(std::memory_order_relaxed) == idle; }      // a hint
    bool has_answer() const noexcept { return is_entry(word_.load(std::memory_order_relaxed)); } // a hint

private:
    static constexpr word idle = 0;
    // The arena's number above 32 bits, the victim's below.
    static constexpr word asking(int victim, unsigned arena) noexcept {
        return static_cast<word>(arena) << 32 | static_cast<word>(victim) << 3 | 1;
    }
    static constexpr word asking_anybody(unsigned arena) noexcept {
        return static_cast<word>(arena) << 32 | 2;
    }
    static constexpr bool is_entry(word w) noexcept { return w != idle && (w & 7) == 0; }
    void store(word w) noexcept { // publishes that the asker has read what it was given, for is_asked() (A3)
        word_.store(w, std::memory_order_release);
    }

    typename Sync::template atomic<word> word_{idle};
};

} // namespace weft::engine
