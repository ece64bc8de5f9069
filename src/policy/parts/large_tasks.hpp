#pragma once

#include "policy/parts/memory_worker_groups.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/spin_lock.hpp"

#include <cstddef>
#include <memory>

/// Tasks too large for the caches below their level: under each memory group one of them runs at a time.
///
///   S. Shiina, master's thesis, University of Tokyo 2021, 5.3.1.
///
/// A large task holds its memory group while it runs or has a group of tasks open below. A hold is a number,
/// 0 for none, which the policy keeps with the task or with its group. The tasks lie in the lists of the
/// worker groups. Which of them may go where is the policy's business.
///
/// I1. `holds` counts the large tasks that hold the memory group, and changes under `lock` only. It is above
///     1 where a policy enters by force, or lets another task in.
/// I2. The worker that gives back a memory group wakes the workers of the group, if a large task waits
///     anywhere. A worker that found no task after one was put has had the lock before, so the task is
///     counted.
namespace weft {

class large_tasks {
public:
    /// Allocates: for policy::attach. `groups` must outlive this.
    void attach(memory_worker_groups& groups, policy_context& context) {
        worker_groups_ = &groups;
        context_ = &context;
        held_ = std::make_unique<holding[]>(static_cast<std::size_t>(groups.groups().count()));
    }

    bool some_wait() const noexcept { return waiting_.load_relaxed() > 0; }
    bool some_wait_at(int level, int i) const noexcept {
        const auto& from = worker_groups_->at(level, i);
        return !from.tasks.empty() || !from.yielded.empty();
    }

    /// `t` waits in the lists of a memory group, for any worker under the memory group `under_i` of `under`.
    void put(task& t, int level, int i, bool behind, int under, int under_i) {
        auto& to = worker_groups_->at(level, i);
        waiting_.add(1);
        (behind ? to.yielded : to.tasks).push_back(&t);
        context_->wake(worker_groups_->at(under, under_i).members); // which of them can take it is not known
    }

    /// Takes a task out of the lists of memory group `from`, for the memory group of `w`, which it holds then.
    /// Takes none if the latter is held already, unless `at_once`. From the own group it takes the youngest
    /// task, from another group the oldest for which `may_run(t)` holds.
    struct taken {
        task* t = nullptr;
        int hold = 0;
    };
    template <class MayRun>
    taken take(worker_id w, int level, int from, bool at_once, MayRun&& may_run) {
        if (!some_wait_at(level, from)) return {};
        auto& lists = worker_groups_->at(level, from);
        const int here = groups().of_worker(level, w);
        holding& own = of(level, here);
        own.lock.lock();
        task* t = nullptr;
        if (at_once || own.holds.load_relaxed() == 0) {
            t = from == here ? lists.tasks.try_pop_back() : lists.tasks.pop_first_if(may_run);
            if (t == nullptr) t = lists.yielded.pop_first_if(may_run);
            if (t != nullptr) own.holds.add(1); // I1
        }
        own.lock.unlock();
        if (t == nullptr) return {};
        waiting_.add(-1);
        return {t, groups().number(level, here) + 1};
    }

    /// The memory group of `w` is held once more, even if another task holds it. Returns the hold.
    int enter(worker_id w, int level) noexcept {
        const int here = groups().of_worker(level, w);
        holding& own = of(level, here);
        own.lock.lock();
        own.holds.add(1);
        own.lock.unlock();
        return groups().number(level, here) + 1;
    }
    void give_back(int hold) {
        if (hold == 0) return;
        holding& own = held_[static_cast<std::size_t>(hold - 1)];
        own.lock.lock();
        own.holds.add(-1);
        own.lock.unlock();
        if (some_wait()) context_->wake(worker_groups_->by_number(hold - 1).members); // I2
    }

private:
    struct alignas(queue::k_cache_line_bytes) holding {
        queue::spin_lock<> lock; // of taking a large task, and of what follows
        queue::cell<int> holds;
    };
    const memory_groups& groups() const noexcept { return worker_groups_->groups(); }
    holding& of(int level, int i) noexcept {
        return held_[static_cast<std::size_t>(groups().number(level, i))];
    }

    memory_worker_groups* worker_groups_ = nullptr;
    policy_context* context_ = nullptr;
    std::unique_ptr<holding[]> held_;
    queue::cell<int> waiting_; // large tasks in lists
};

} // namespace weft
