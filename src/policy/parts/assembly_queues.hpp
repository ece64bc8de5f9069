#pragma once

#include "policy/parts/core_clusters.hpp"
#include "policy/seam/policy.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/chain.hpp"
#include "queue/spin_lock.hpp"

#include <cstddef>
#include <memory>
#include <span>

/// The shares of moldable tasks that wait for their workers: a queue for each worker, first in first out. A worker takes
/// its own shares only, and no worker waits for the others of a place when it begins.
///
///   M. Pericas: Elastic places. ACM TACO 2018, whose threads put a task into the queues of its place under the locks of all
///   of them. Here a cluster has one lock.
///
///   word    | writer                  | readers                 | order
///   shares  | holder of the lock      | holder of the lock      | plain, ordered by the lock of the cluster
///   length  | holder of the lock      | the worker of the queue | relaxed: a hint, which the lock or the fences of
///           |                         |                         | the engine's sleep follow (announce, begin_parking)
///
/// V1: two tasks that have two workers in common stand in the same order in both queues, since a place lies in one cluster
///     and all its shares are put under one lock. So among the oldest shares of all queues there is a task that has all of its
///     shares in front, and bodies whose shares wait for each other come to an end.
namespace weft {

class assembly_queues {
public:
    /// Allocates: for policy::attach.
    void attach(const core_clusters& clusters, int workers) {
        clusters_ = &clusters;
        locks_ = std::make_unique<lock_of_cluster[]>(static_cast<std::size_t>(clusters.count()));
        mine_ = std::make_unique<one[]>(static_cast<std::size_t>(workers));
    }

    void put(std::span<task* const> shares, elastic_place at) noexcept {
        queue::spin_lock<>& all_at_once = lock_of(at.leader); // V1
        all_at_once.lock();
        for (std::size_t i = 0; i < shares.size(); ++i) {
            one& q = mine_[static_cast<std::size_t>(at.leader) + i];
            q.shares.push_back(shares[i]);
            q.length.store_relaxed(q.length.load_relaxed() + 1);
        }
        all_at_once.unlock();
    }

    /// Whether a share waits for `w`: exact for what was put before a fence of the caller, but for what `w` takes.
    bool has(worker_id w) const noexcept {
        return mine_[static_cast<std::size_t>(w)].length.load_relaxed() > 0;
    }

    /// The oldest share of this worker, the caller; null if there is none.
    task* take(worker_id w) noexcept {
        one& q = mine_[static_cast<std::size_t>(w)];
        if (!has(w)) return nullptr;
        lock_of(w).lock();
        task* const t = q.shares.pop_front();
        if (t != nullptr) q.length.store_relaxed(q.length.load_relaxed() - 1);
        lock_of(w).unlock();
        return t;
    }

private:
    struct alignas(queue::k_cache_line_bytes) lock_of_cluster : queue::spin_lock<> {};
    struct alignas(queue::k_cache_line_bytes) one {
        queue::chain<task> shares;
        queue::cell<int> length{0};
    };

    queue::spin_lock<>& lock_of(worker_id w) noexcept {
        return locks_[static_cast<std::size_t>(clusters_->of(w))];
    }

    const core_clusters* clusters_ = nullptr;
    std::unique_ptr<lock_of_cluster[]> locks_;
    std::unique_ptr<one[]> mine_;
};

} // namespace weft
