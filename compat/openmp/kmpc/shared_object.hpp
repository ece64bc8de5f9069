#pragma once

#include "runtime/sanitizer.hpp"
#include "runtime/team.hpp"

#include <atomic>

/// An object that the threads of a team share in one construct: the thread that comes first makes it, the one that leaves last frees it.
namespace weft::openmp::kmpc {

/// Base of such an object.
struct shared_object {
    std::atomic<int> users{0};

    /// True for the last one. acq_rel: it frees what the others have used
    bool leave() noexcept {
        happens_before(this);
        const bool is_last = users.fetch_sub(1, std::memory_order_acq_rel) == 1;
        if (is_last) happens_after(this);
        return is_last;
    }
};

/// Comes to the construct, which is one of the chain of the team. `make()` returns a new object; several threads may call it, and
/// the objects of all but one are deleted.
template <class T, class Make>
T& come_to(region& me, Make&& make) {
    static_cast<void>(enter_share(me, {.memory = sizeof(std::atomic<T*>)}));
    auto& slot = *static_cast<std::atomic<T*>*>(me.on->share->memory); // zeroed
    T* here = slot.load(std::memory_order_acquire);                    // pairs with the exchange
    if (here) return *here;
    T* const mine = make();
    mine->users.store(me.in->size, std::memory_order_relaxed); // before the exchange
    if (slot.compare_exchange_strong(here, mine, std::memory_order_acq_rel, std::memory_order_acquire))
        return *mine;
    delete mine;
    return *here;
}

} // namespace weft::openmp::kmpc
