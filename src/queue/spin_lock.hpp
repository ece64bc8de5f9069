// A test-and-test-and-set lock for critical sections of a few instructions.
//
//   L. Rudolph, Z. Segall: Dynamic decentralized cache schemes for MIMD parallel processors. ISCA 1984.
//
// Any thread may lock; the thread that locked unlocks. Not recursive, not fair. A signal handler never takes
// a lock that its thread could hold. Usable with std::lock_guard and std::unique_lock.
//
//   word   | writer                         | readers           | order
//   word_  | a locking thread (exchange 1)  | spinning threads  | acquire on taking, relaxed while looking
//          | the holder (store 0)           | locking threads   | release
//
// I1: word_ is 1 exactly while one thread is between lock() and unlock().
// I2: what happens inside one critical section happens before the next one.
//
// Reclamation: none; the lock is one word.
#pragma once

#include <cstdint>

#include "queue/spin_wait.hpp"
#include "queue/sync.hpp"

namespace weft::queue {

template <class Sync = std_sync>
class spin_lock {
public:
    spin_lock() noexcept = default;
    spin_lock(const spin_lock&) = delete;
    spin_lock& operator=(const spin_lock&) = delete;

    void lock() noexcept {
        while (!take()) wait_until_free();
    }

    bool try_lock() noexcept {
        // relaxed: only a hint that saves the exchange; take() decides
        return word_.load(std::memory_order::relaxed) == k_free && take();
    }

    void unlock() noexcept {
        // release: pairs with the acquire exchange in take() (I2)
        word_.store(k_free, std::memory_order::release);
    }

private:
    static constexpr std::uint32_t k_free = 0;
    static constexpr std::uint32_t k_held = 1;

    bool take() noexcept {
        // acquire: pairs with the release store in unlock() (I2). One exchange finds it free (I1).
        return word_.exchange(k_held, std::memory_order::acquire) == k_free;
    }

    void wait_until_free() noexcept {
        spin_wait<Sync> wait;
        // relaxed: only a look; take() synchronizes
        while (word_.load(std::memory_order::relaxed) != k_free) wait.once();
    }

    typename Sync::template atomic<std::uint32_t> word_{k_free};
};

} // namespace weft::queue
