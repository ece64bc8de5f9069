#pragma once

#include "policy/parts/memory_groups.hpp"

#include "queue/cell.hpp"

#include <array>
#include <cstddef>
#include <memory>

/// For which level of the memory groups a worker works now.
///
///   S. Shiina, master's thesis, University of Tokyo 2021, 5.4. The printed algorithm lets a worker serve the
///   level of its own task only; then no worker finds the tasks below a group that skips a level.
///
/// A group of tasks whose data fit goes to a deeper level. As long as it is open, the memory groups that it
/// covers count it, and the workers below them serve the deeper level, so that one large task at a time runs
/// under a cache. But a task that waits for something other than its children may wait for what lies at
/// another level: while there is one, all levels are served.
///
/// All counts are relaxed cells that any worker changes: a wrong one delays a task, and wake() tells of the
/// change.
namespace weft {

class served_levels {
public:
    /// Allocates: for policy::attach. With one level there is nothing to count. `groups` must outlive this.
    void attach(const memory_groups& groups, policy_context& context, bool several) {
        groups_ = &groups;
        context_ = &context;
        several_ = several;
        open_ = std::make_unique<counts[]>(static_cast<std::size_t>(groups.count()));
    }

    /// A group of tasks goes from the memory groups `under` of `level` to the level `to`.
    void descend(int level, memory_groups::span under, int to) noexcept { change(level, under, to, 1); }
    /// It has ended: the workers below serve the level above again.
    void ascend(int level, memory_groups::span under, int to) {
        change(level, under, to, -1);
        if (several_)
            context_->wake(groups_->heads(groups_->leaf_level(),
                                          groups_->descendants(level, under, groups_->leaf_level())));
    }

    /// Of the memory groups over `w` that have sent an open group deeper, the deepest counts: its level.
    int served_by(worker_id w) const noexcept {
        const int leaf = groups_->leaf_level();
        if (!several_) return leaf;
        for (int l = leaf - 1; l >= 0; --l) {
            const counts& open =
                open_[static_cast<std::size_t>(groups_->number(l, groups_->of_worker(l, w)))];
            for (int to = leaf; to > l; --to)
                if (open.to_level[static_cast<std::size_t>(to)].load_relaxed() > 0) return to;
        }
        return 0;
    }

    /// A task begins to wait for something other than its children.
    void stall() {
        if (several_ && stalled_.add(1) == 0) context_->wake(context_->all()); // all levels are served
    }
    /// Its wait is over. Waits for another runtime are not counted when they begin, so the count is kept from
    /// falling below 0.
    void resume() noexcept {
        if (!several_) return;
        int n = stalled_.load_relaxed();
        while (n > 0 && !stalled_.compare_exchange(n, n - 1)) {}
    }
    bool all_are_served() const noexcept { return !several_ || stalled_.load_relaxed() > 0; }

private:
    struct counts { // of a memory group: groups of tasks that went from there to each level, and are open
        std::array<queue::cell<int>, memory_groups::most_levels> to_level;
    };

    void change(int level, memory_groups::span under, int to, int by) noexcept {
        for (int i = under.first; i < under.last; ++i)
            open_[static_cast<std::size_t>(groups_->number(level, i))]
                .to_level[static_cast<std::size_t>(to)]
                .add(by);
    }

    const memory_groups* groups_ = nullptr;
    policy_context* context_ = nullptr;
    bool several_ = false;
    std::unique_ptr<counts[]> open_;
    queue::cell<int> stalled_; // tasks that wait for something other than their children
};

} // namespace weft
