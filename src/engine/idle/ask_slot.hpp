#pragma once

#include "queue/sync.hpp"

#include <weft/impl/hot.hpp>

#include <atomic>
#include <cstdint>

namespace weft::engine {

/// The word in which one worker, the asker, receives a hidden entry of another. The word decides every race
/// between the asker, the workers that answer, and an owner that reclaims its entry: README.md, "Asking".
///
///   value             | writer                                          | replaces
///   idle              | the asker (take, withdraw)                      | any value
///                     | the owner of the entry (reclaim)                | exactly that entry
///   asking v in a     | the asker                                       | idle
///   asking any of a   | the asker                                       | idle
///   an entry          | worker v, or its handler, while v is in arena a | asking v in a, asking any of a
///
/// The arena a is part of the word, so an answer fails if it comes late to an asker that has changed arenas
/// and asks again.
///
/// A1 An entry is in at most one slot. The side that takes the word from the entry to idle owns the entry.
/// A2 After withdraw() returned null, no worker writes the slot until the next ask.
/// A3 What a victim keeps for the asker beside the entry may be overwritten by a victim that has seen
///    is_asked(): the asker has finished with what that victim gave it before.
/// Entries are aligned to 8 bytes, so the low bits of the word tell an ask from an answer.
template <class Sync = queue::std_sync>
class ask_slot {
public:
    using word = std::uintptr_t;

    /// Asker. Requires: the slot is idle. The second form lets any worker of the arena answer.
    void ask(int victim, unsigned arena = 0) noexcept { store(asking(victim, arena)); }
    void ask_any(unsigned arena = 0) noexcept { store(asking_any(arena)); }

    /// Victim: whether the asker still asks this worker.
    bool is_asked(int victim, unsigned arena = 0) const noexcept {
        const word now = word_.load(std::memory_order_acquire); // pairs with the release in store() (A3)
        return now == asking(victim, arena) || now == asking_any(arena);
    }
    /// Victim: hands the entry to the asker. False if the asker has stopped asking this worker. All fields of
    /// the entry are written before the call.
    bool answer(int victim, impl::frame* entry, unsigned arena = 0) noexcept {
        word expected = word_.load(std::memory_order_relaxed); // only a guess for the exchange
        if (expected != asking(victim, arena) && expected != asking_any(arena)) return false;
        // release: the entry's fields, for take(). acquire: the asker armed its parker before it asked (X3)
        return word_.compare_exchange_strong(expected, reinterpret_cast<word>(entry),
                                             std::memory_order_acq_rel, std::memory_order_relaxed);
    }

    /// Asker: the answer, or null; the ask stays if there is none.
    impl::frame* take() noexcept {
        word expected = word_.load(std::memory_order_relaxed); // only a guess for the exchange
        if (!is_entry(expected)) return nullptr;
        // acquire: pairs with the release in answer(). The exchange fails if the owner has reclaimed the
        // entry (A1).
        if (!word_.compare_exchange_strong(expected, idle, std::memory_order_acquire,
                                           std::memory_order_relaxed))
            return nullptr;
        return reinterpret_cast<impl::frame*>(expected);
    }

    /// Asker: stops asking (A2). An answer that came first is returned, and the asker must run it.
    impl::frame* withdraw() noexcept {
        // acquire: pairs with the release in answer()
        const word before = word_.exchange(idle, std::memory_order_acquire);
        return is_entry(before) ? reinterpret_cast<impl::frame*>(before) : nullptr;
    }

    /// Owner: true if the entry that it had answered with is its own again (A1).
    bool reclaim(impl::frame* entry) noexcept {
        word expected = reinterpret_cast<word>(entry); // relaxed: the owner itself wrote the entry
        return word_.compare_exchange_strong(expected, idle, std::memory_order_relaxed,
                                             std::memory_order_relaxed);
    }

    bool is_idle() const noexcept { return word_.load(std::memory_order_relaxed) == idle; }      // a hint
    bool has_answer() const noexcept { return is_entry(word_.load(std::memory_order_relaxed)); } // a hint

private:
    static constexpr word idle = 0;
    // The arena's number from bit 32 on, the victim's rank from bit 3 on.
    static constexpr word asking(int victim, unsigned arena) noexcept {
        return static_cast<word>(arena) << 32 | static_cast<word>(victim) << 3 | 1;
    }
    static constexpr word asking_any(unsigned arena) noexcept { return static_cast<word>(arena) << 32 | 2; }
    static constexpr bool is_entry(word w) noexcept { return w != idle && (w & 7) == 0; }
    void store(word w) noexcept {
        // release: the asker has read what it was given before; pairs with is_asked() (A3)
        word_.store(w, std::memory_order_release);
    }

    typename Sync::template atomic<word> word_{idle};
};

} // namespace weft::engine
