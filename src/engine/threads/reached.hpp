#pragma once

#include "engine/threads/occupancy.hpp"
#include "engine/threads/thread_worker.hpp"
#include "queue/sync.hpp"

namespace weft::engine {

using occupancy_of = occupancy<queue::std_sync, thread_worker, const reach>;

/// Access to the occupant of a worker. It does not end while this object exists (P1).
class reached {
public:
    explicit reached(thread_worker& w) noexcept : of_(w), at_(occupancy_of::enter(w)) {}
    ~reached() { occupancy_of::leave(of_); }
    reached(const reached&) = delete;
    reached& operator=(const reached&) = delete;
    const reach* operator->() const noexcept { return at_; }

private:
    thread_worker& of_;
    const reach* const at_;
};

} // namespace weft::engine
