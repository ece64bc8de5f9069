#include <weft/impl/storage.hpp>

#include "engine/worker/worker.hpp"
#include "queue/spin_lock.hpp"

#include <mutex>
#include <new>
#include <utility>

/// The rare steps of the storage of workers.
namespace weft::impl {

const void* storage::owner_outside() noexcept { return &weft_hot; }

stored& storage::add(stored& made) noexcept {
    static_assert(sizeof(queue::spin_lock<>) == sizeof(lock_));
    const tick_hold here; // of the lock below, and of the worker
    const worker* const w = hot_self();
    made.owner = w ? static_cast<const void*>(w) : owner_outside();
    made.rank = w ? w->id : -1;

    const std::lock_guard held(*std::launder(reinterpret_cast<queue::spin_lock<>*>(&lock_)));
    stored& own = element_list<stored>::add(lists_[list_of(made.owner)], made);
    if (&own != &made) return own;
    stored** at = &first_;
    while (*at && (*at)->rank <= made.rank) at = &(*at)->next;
    made.next = std::exchange(*at, &made);
    ++size_;
    return made;
}

stored* storage::release() noexcept {
    for (auto& list : lists_) list.store(nullptr, std::memory_order_relaxed); // the caller is alone
    size_ = 0;
    return std::exchange(first_, nullptr);
}

} // namespace weft::impl
