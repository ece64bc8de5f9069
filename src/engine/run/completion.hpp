#pragma once

#include "queue/sync.hpp"

#include <weft/impl/hot.hpp>

#include <atomic>
#include <cstdint>
#include <new>

namespace weft::engine {

/// How a frame that a thief ran tells its owner. One word:
///
///   value              | written by                       | when
///   running            | owner                            | before the frame is exposed
///   the waiter         | owner, only over `running`       | after the owner's context is saved
///   value, failed      | thief, exactly once              | after the frame has run
///
/// The thief's exchange and the owner's compare-exchange meet in this word, so exactly one of them sees the
/// other: the thief finds a waiter and must make it ready, or the owner finds the result and continues.
template <class Sync = queue::std_sync>
class completion {
public:
    static constexpr std::uintptr_t running = 0, value = 1, failed = 2;

    completion() noexcept : word_(running) {}

    /// Thief: publishes the result; returns the waiter to make ready, or 0.
    std::uintptr_t finish(bool threw) noexcept {
        // release: the result, read after the acquire in poll/wait. acquire: the waiter's saved context.
        const auto before = word_.exchange(threw ? failed : value, std::memory_order_acq_rel);
        return before;
    }
    /// Owner: `value`, `failed`, or `running`.
    std::uintptr_t poll() const noexcept {
        return word_.load(std::memory_order_acquire); // pairs with the exchange in finish
    }
    /// Owner's worker, after the switch: true if `waiter` (aligned, above 2) will be made ready by the thief.
    bool wait(std::uintptr_t waiter) noexcept {
        std::uintptr_t expected = running;
        // release: the saved context, for the thief's exchange. acquire: the result, if it came first.
        return word_.compare_exchange_strong(expected, waiter, std::memory_order_acq_rel,
                                             std::memory_order_acquire);
    }

private:
    typename Sync::template atomic<std::uintptr_t> word_;
};

static_assert(sizeof(completion<>) == sizeof(impl::frame::done));

inline completion<>& completion_of(impl::frame& f) noexcept {
    return *std::launder(reinterpret_cast<completion<>*>(&f.done));
}
inline void begin_completion(impl::frame& f) noexcept { ::new (static_cast<void*>(&f.done)) completion<>; }

} // namespace weft::engine
