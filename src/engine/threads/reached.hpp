#pragma once

#include "engine/threads/thread_worker.hpp"

#include <atomic>

namespace weft::engine {

/// Access to the occupant of a worker. An external occupant does not leave while this object exists (P1).
class reached {
public:
    explicit reached(thread_worker& w) noexcept : of_(w) {
        of_.reaching.fetch_add(1, std::memory_order_seq_cst);
        at_ = of_.occupant.load(std::memory_order_seq_cst);
    }
    ~reached() {
        of_.reaching.fetch_sub(1, std::memory_order_release);
    } // pairs with the loops in ~occupation() and in preempter::serve_as_spare()
    reached(const reached&) = delete;
    reached& operator=(const reached&) = delete;
    const reach* operator->() const noexcept { return at_; }

private:
    thread_worker& of_;
    const reach* at_;
};

} // namespace weft::engine
