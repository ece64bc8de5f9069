#pragma once

#include "queue/spin_lock.hpp"

/// Holds a policy's lock for a block. (std::lock_guard is in <mutex>, whose locks a policy must not use.)
namespace weft {

class [[nodiscard]] held_lock {
public:
    explicit held_lock(queue::spin_lock<>& lock) noexcept : lock_(lock) { lock_.lock(); }
    ~held_lock() { lock_.unlock(); }
    held_lock(const held_lock&) = delete;
    held_lock& operator=(const held_lock&) = delete;

private:
    queue::spin_lock<>& lock_;
};

} // namespace weft
