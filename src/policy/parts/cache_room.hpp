#pragma once

#include "policy/parts/memory_groups.hpp"

#include "queue/cache_line.hpp"
#include "queue/spin_lock.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

/// How many bytes of each cache are taken, by tasks that are anchored there and by tasks that run below.
///
///   H. V. Simhadri et al.: Experimental analysis of space-bounded schedulers. SPAA 2014.
///
/// A cache has room for as much as it holds. What takes of it:
///
///     anchored task    its bytes, from its start to its end, in its cache and those between that and the
///                      anchor of its parent
///     strand           a task while it runs on a worker: its bytes, but at most the part `mu`, in each cache
///                      that the worker shares with others, below the anchor
///
/// It counts. It knows no task, decides nothing about tasks that wait, and wakes no worker. The memory, level
/// 0, is not counted, since it holds everything.
namespace weft {

class cache_room {
public:
    struct strand { ///< what a worker runs
        std::size_t bytes = 0;
        int below = 0; ///< level of the anchor
    };

    /// Allocates: for policy::attach. `sigma`, the part of a cache that a task may fill to be anchored there,
    /// and `mu` are in percent. `groups` must outlive this.
    void attach(const memory_groups& groups, int sigma, int mu) {
        groups_ = &groups;
        sigma_ = sigma;
        mu_ = mu;
        used_ = std::make_unique<std::int64_t[]>(static_cast<std::size_t>(groups.count()));
        strands_ = std::make_unique<own_strand[]>(static_cast<std::size_t>(groups.workers_in_all()));
    }

    /// The level of the smallest cache over `w`, not above `level`, that `bytes` may be anchored to.
    int fitting(std::size_t bytes, int level, worker_id w) const noexcept {
        const auto fits = [&](int l) { return bytes <= part_of(capacity(l, w), sigma_); };
        while (level < groups_->leaf_level() && fits(level + 1)) ++level;
        return level;
    }

    /// `w` begins a strand of a task whose parent is anchored at `above` and which is itself anchored at
    /// `to`. Takes the room for both, if each cache has it or `may_exceed(level)` says that it may be
    /// exceeded. Returns whether it was taken.
    template <class MayExceed>
    bool take(worker_id w, std::size_t bytes, int above, int to, MayExceed&& may_exceed) noexcept {
        const int last = std::max(to, groups_->leaf_level() - 1);
        const auto wanted = [&](int l) {
            return l <= to ? static_cast<std::int64_t>(bytes) : of_strand(bytes, l, w);
        };
        lock_.lock();
        for (int l = above + 1; l <= last; ++l) {
            if (used(l, w) + wanted(l) <= capacity(l, w) || may_exceed(l)) continue;
            lock_.unlock();
            return false;
        }
        for (int l = above + 1; l <= last; ++l) used(l, w) += wanted(l);
        lock_.unlock();
        strands_[static_cast<std::size_t>(w)].now = {bytes, to};
        return true;
    }

    /// Gives back what the strand of `w` takes. Returns it; without bytes if there was none.
    strand end_strand(worker_id w) noexcept {
        const strand own = std::exchange(strands_[static_cast<std::size_t>(w)].now, {});
        if (own.bytes == 0 || own.below + 1 >= groups_->leaf_level()) return own;
        lock_.lock();
        for (int l = own.below + 1; l < groups_->leaf_level(); ++l) used(l, w) -= of_strand(own.bytes, l, w);
        lock_.unlock();
        return own;
    }
    /// Gives back what a task takes that is anchored at `to` over `w`, its parent at `above`.
    void end_anchor(worker_id w, std::size_t bytes, int above, int to) noexcept {
        if (above >= to) return;
        lock_.lock();
        for (int l = above + 1; l <= to; ++l) used(l, w) -= static_cast<std::int64_t>(bytes);
        lock_.unlock();
    }

private:
    struct alignas(queue::k_cache_line_bytes) own_strand { // only its worker touches it
        strand now;
    };

    std::int64_t& used(int level, worker_id w) noexcept {
        return used_[static_cast<std::size_t>(groups_->number(level, groups_->of_worker(level, w)))];
    }
    std::int64_t capacity(int level, worker_id w) const noexcept {
        return static_cast<std::int64_t>(groups_->capacity(level, groups_->of_worker(level, w)));
    }
    std::int64_t of_strand(std::size_t bytes, int level, worker_id w) const noexcept {
        return static_cast<std::int64_t>(std::min(bytes, part_of(capacity(level, w), mu_)));
    }
    static std::size_t part_of(std::int64_t capacity, int percent) noexcept {
        return static_cast<std::size_t>(static_cast<double>(capacity) * percent / 100);
    }

    const memory_groups* groups_ = nullptr;
    int sigma_ = 0, mu_ = 0;               // percent
    queue::spin_lock<> lock_;              // of used_
    std::unique_ptr<std::int64_t[]> used_; // bytes of each cache
    std::unique_ptr<own_strand[]> strands_;
};

} // namespace weft
