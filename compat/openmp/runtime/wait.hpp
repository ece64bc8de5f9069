#pragma once

#include <weft/impl/hot.hpp>

#include <chrono>
#include <concepts>
#include <type_traits>

/// Waiting for a word in memory to change, whatever the word is: the 4 bytes of an omp_lock_t, the arrivals of a barrier, a
/// count of children. Sleepers are found by the address that they wait for, so the word itself needs no room for them.
///
///     wait_until(&word, [&] { return word.load(...) == 0; }, patience);
///     word.store(0, ...);  wake_all(&word);
///
/// W1  A sleeper looks once more under the lock of its bucket, after it has counted itself there; the thread that changes
///     the word passes a fence and then reads that count (wake_all). So the sleeper sees the change, or is woken.
/// W2  An address means nothing but itself: a sleeper may be woken though its condition is false, and looks again. So
///     the thread that wakes others needs no object to be alive at the address.
///
/// On a worker the task is suspended with its stack, and goes on on the same worker (engine/idle/home_tasks.hpp): the
/// compiled code may hold addresses of thread-local variables. A thread that is no worker sleeps in the kernel.
namespace weft::openmp {

/// How long a waiter looks at its word before it sleeps.
enum class patience { none, some };

/// The limit of `patience::some`, by OMP_WAIT_POLICY. Set before the first wait.
void set_patience(std::chrono::nanoseconds) noexcept;

/// Wakes all that wait for this address. Passes a sequentially consistent fence first (W1).
void wake_all(const void* address) noexcept;

namespace impl {
using condition = bool (*)(void*);
void wait_until(const void* address, condition, void* of, patience);
bool look(condition, void* of);

template <class Done>
condition call_of() noexcept {
    return [](void* of) -> bool { return (*static_cast<std::remove_reference_t<Done>*>(of))(); };
}
template <class Done>
void* address_of(Done& done) noexcept {
    return const_cast<void*>(static_cast<const void*>(&done));
}
} // namespace impl

/// Looks at the condition as long as `patience::some` says, without sleeping; true if it became true.
template <std::invocable Done>
bool looks_true(Done&& done) {
    return impl::look(impl::call_of<Done>(), impl::address_of(done));
}

/// Returns when `done()` is true. It may be called with ticks held away, and must not wait.
template <std::invocable Done>
void wait_until(const void* address, Done&& done, patience p) {
    if (done()) return;
    impl::wait_until(address, impl::call_of<Done>(), impl::address_of(done), p);
}

} // namespace weft::openmp
