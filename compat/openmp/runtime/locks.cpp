#include "runtime/locks.hpp"

#include "runtime/wait.hpp"

namespace weft::openmp {

void acquire_slow_path(lock_word& l) {
    if (looks_true([&] { return l.load(std::memory_order_relaxed) == 0 && try_acquire(l); })) return;
    // A waiter marks the lock with 2 also when it gets it: others may have waited before.
    wait_until(
        &l,
        [&] { return l.exchange(2, std::memory_order_acquire) == 0; }, // pairs with the exchange in release()
        patience::none);
}

void wake_one_waiter(lock_word& l) noexcept { wake_all(&l); }

} // namespace weft::openmp
