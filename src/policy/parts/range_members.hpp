#pragma once

#include "policy/parts/distribution_tree.hpp"
#include "policy/parts/memory_groups.hpp"
#include "policy/parts/migration_queues.hpp"
#include "policy/parts/range_task.hpp"
#include "policy/parts/work_range.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>

/// The members of all levels: the queues of each, and the ranges in which it steals.
///
///   S. Shiina, master's thesis, University of Tokyo 2021, Algorithms 4.3 and 5.3.
///
/// A member is a memory group; on one level it is a worker. Its head, the first of its workers, acts for it.
/// The class puts tasks into queues and takes them out. It divides no range, and does not choose the level
/// that a worker serves.
///
/// Once a task is in a queue it may run and end, so nothing is read of it after that.
namespace weft {

class range_members {
public:
    /// Allocates: for policy::attach. Without `steals`, members take only what was sent to them.
    void attach(const machine& m, policy_context& context, bool with_caches, bool steals) {
        context_ = &context;
        steals_ = steals;
        groups_.attach(m, context, with_caches);
        queues_ = std::make_unique<migration_queues[]>(static_cast<std::size_t>(groups_.count()));
        tree_.attach(groups_.count());
    }

    const memory_groups& groups() const noexcept { return groups_; }
    migration_queues& queues(int level, int i) noexcept {
        return queues_[static_cast<std::size_t>(groups_.number(level, i))];
    }
    bool is_head(worker_id w, int level, int i) const noexcept { return groups_.head(level, i) == w; }
    workers heads(const member_range& r) const noexcept { return groups_.heads(r.level, {r.lo, r.hi + 1}); }
    static placement only(worker_id w) noexcept { return {w, {w, w + 1}}; }

    // ---- where a task is put

    /// Into the mailbox of its owner: PASSSEARCHROOTTASK, and return migration.
    placement send(int level, int owner, task& t) noexcept {
        queues(level, owner).send(t);
        return only(groups_.head(level, owner));
    }
    /// To another member, whose thieves are told: PASSNONSEARCHROOTTASK.
    placement pass(int level, int owner, task& t) {
        queues(level, owner).pass(t);
        if (const auto range = steal_range(level, owner)) context_->wake(heads(*range));
        return only(groups_.head(level, owner));
    }
    /// To the member that `w` acts for, or back to its owner: PUSHTASKTOLOCAL.
    placement push(worker_id w, task& t, int level, int owner, ready_reason reason) {
        const int here = groups_.of_worker(level, w);
        const bool pushes = reason == ready_reason::continuation || reason == ready_reason::exposed;
        if (level != groups_.leaf_level() && (!pushes || !is_head(w, level, here))) {
            queues(level, owner).push_local(t);
            return only(groups_.head(level, owner));
        }
        const auto range = own_steal_range(level, here);
        if (reason == ready_reason::exposed && here != owner && !(range && range->contains(owner))) {
            // It was asked for while the range still allowed it: it goes back, as the oldest.
            queues(level, owner).push_oldest(t);
            return only(groups_.head(level, owner));
        }
        queues(level, here).push(t);
        return range ? placement{w, heads(*range)} : only(w);
    }

    // ---- the distribution tree (4.2.4)

    distribution_tree::node* open(const range_task& part, distribution_tree::node* parent) noexcept {
        return tree_.open(groups_.number(part.level, part.range.owner()),
                          member_range::of(part.range, part.level), parent);
    }
    void close(distribution_tree::node& n) noexcept { tree_.close(n); }

    /// A search root has ended, or waits: members may steal within the range of its group.
    void activate(distribution_tree::node* node) {
        if (node == nullptr || !distribution_tree::activate(*node)) return;
        if (steals_) context_->wake(heads(distribution_tree::range_of(*node)));
    }
    /// The members in the middle of a range whose task has ended get its node, since no search root reaches
    /// them.
    void hand_over(const range_task& part) noexcept {
        const int last = std::min(static_cast<int>(std::ceil(part.range.to)), int{part.end});
        for (int i = part.range.owner() + 1; i < last; ++i)
            tree_.move_to(groups_.number(part.level, i), part.node);
    }
    /// The head of member `i` has received a task: it adopts the node of that.
    void adopt(int level, int i, const range_task& part) noexcept {
        if (part.node != nullptr) tree_.move_to(groups_.number(level, i), part.node);
    }

    /// In which range member `i` may steal.
    std::optional<member_range> own_steal_range(int level, int i) const noexcept {
        return steals_ ? steal_range(level, i) : std::nullopt;
    }
    /// The same, for a worker that may act for its member.
    std::optional<member_range> steal_range_of(worker_id w, int level) const noexcept {
        const int here = groups_.of_worker(level, w);
        return is_head(w, level, here) ? own_steal_range(level, here) : std::nullopt;
    }

    // ---- what a thief takes: STEALTASK

    /// One look at a random other member of `r`; `asks`: if there is no task, its hidden frames may be asked
    /// for.
    decision steal_one(worker_id w, const member_range& r, bool asks) {
        const int others = r.hi - r.lo, here = groups_.of_worker(r.level, w); // which lies in the range
        if (others < 1) return {};
        int v = r.lo + static_cast<int>(context_->random(w, static_cast<std::uint32_t>(others)));
        if (v >= here) ++v;
        migration_queues& victim = queues(r.level, v);
        task* const t = victim.steal(r, v);
        return {t, groups_.head(r.level, v), t == nullptr && asks && victim.runs_task_of(r, v)};
    }
    /// A look at all of them.
    decision steal_any(worker_id w, const member_range& r) noexcept {
        const int here = groups_.of_worker(r.level, w);
        for (int v = r.lo; v <= r.hi; ++v)
            if (task* const t = v != here ? queues(r.level, v).steal(r, v) : nullptr)
                return {t, groups_.head(r.level, v)};
        return {};
    }

private:
    std::optional<member_range> steal_range(int level, int i) const noexcept {
        return tree_.steal_range(groups_.number(level, i), level, i);
    }

    policy_context* context_ = nullptr;
    bool steals_ = true;
    memory_groups groups_;
    distribution_tree tree_;
    std::unique_ptr<migration_queues[]> queues_;
};

} // namespace weft
