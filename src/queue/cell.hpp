// One shared word with its memory order in the name of the access.
//
// A policy keeps a word that several workers read and write (a load, a flag, a packed state) in a cell,
// without naming atomics. Any thread may call any function at any time; no access blocks or allocates.
//
//   word    | writer                                   | reader        | order
//   value_  | store_relaxed, add                       | load_relaxed  | relaxed: the value guards nothing
//           | store_release                            | load_acquire  | the reader sees all written before
//           | exchange, compare_exchange               | load_acquire  | the same in both directions: acq_rel
//
// I1: all accesses to one cell happen in one order that all threads agree on.
//
// Reclamation: none.
#pragma once

#include <type_traits>

#include "queue/sync.hpp"

namespace weft::queue {

template <class T, class Sync = std_sync>
class cell {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "a cell is one word");

public:
    constexpr cell() noexcept : value_(T{}) {}
    constexpr explicit cell(T value) noexcept : value_(value) {}
    cell(const cell&) = delete;
    cell& operator=(const cell&) = delete;

    // relaxed: the reader uses the value itself and nothing that it would guard
    T load_relaxed() const noexcept { return value_.load(std::memory_order::relaxed); }

    // acquire: pairs with store_release, exchange and compare_exchange of the same cell
    T load_acquire() const noexcept { return value_.load(std::memory_order::acquire); }

    // relaxed: the value itself is the message
    void store_relaxed(T value) noexcept { value_.store(value, std::memory_order::relaxed); }

    // release: pairs with load_acquire, exchange and compare_exchange of the same cell
    void store_release(T value) noexcept { value_.store(value, std::memory_order::release); }

    // acq_rel: pairs with store_release, load_acquire and the other exchanges of the same cell
    T exchange(T value) noexcept { return value_.exchange(value, std::memory_order::acq_rel); }

    // On failure `expected` receives the value found.
    bool compare_exchange(T& expected, T desired) noexcept {
        // acq_rel, and acquire on failure: pairs with store_release and the other exchanges of the same cell
        return value_.compare_exchange_strong(expected, desired, std::memory_order::acq_rel,
                                              std::memory_order::acquire);
    }

    // The value before. relaxed: a count or sum guards nothing.
    T add(T amount) noexcept
        requires std::is_integral_v<T>
    {
        return value_.fetch_add(amount, std::memory_order::relaxed);
    }

private:
    typename Sync::template atomic<T> value_; // one atomic word, and no fence (I1)
};

} // namespace weft::queue
