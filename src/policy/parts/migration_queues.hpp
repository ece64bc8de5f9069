#pragma once

#include "policy/parts/work_range.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/locked_list.hpp"
#include "task/task.hpp"

/// The tasks of one member: a mailbox for search roots and two queues for all others.
///
///   S. Shiina, master's thesis, University of Tokyo 2021, 4.3.5 and Algorithm 4.3.
///
///     mailbox    search roots that are sent here or come back after one of their groups; never stolen. The
///                thesis has one slot; here it is a list, since search roots that were blocked come back, too
///     local      continuations left behind, stolen tasks, and what they spawn: last in first out
///     migrated   tasks passed by other members: first in first out; what they spawn goes before them
///
/// The head of the member takes from the front; passing members and thieves use the back. Which queue the
/// head uses at the moment is a word that only the head writes.
namespace weft {

class alignas(queue::k_cache_line_bytes) migration_queues {
public:
    void send(task& t) noexcept { mailbox_.push_back(&t); }
    void pass(task& t) noexcept { migrated_.push_back(&t); } ///< PASSNONSEARCHROOTTASK
    void push(task& t) noexcept {
        (uses_migrated() ? migrated_ : local_).push_front(&t);
    } ///< PUSHTASKTOLOCAL
    void push_local(task& t) noexcept { local_.push_front(&t); }
    void push_oldest(task& t) noexcept { local_.push_back(&t); } ///< the next thief takes it

    /// A search root, for the head. The queue in use is the local one from then on.
    task* receive() noexcept {
        task* const t = mailbox_.try_pop_front();
        if (t != nullptr) uses_migrated_.store_relaxed(false);
        return t;
    }
    /// POPTASKFROMLOCAL, for the head: from the queue in use; if that is empty, from the other one. If both
    /// are empty, the local one is in use.
    task* pop() noexcept {
        const bool migrated_first = uses_migrated();
        if (task* const t = (migrated_first ? migrated_ : local_).try_pop_front()) return t;
        task* const t = (migrated_first ? local_ : migrated_).try_pop_front();
        uses_migrated_.store_relaxed(!migrated_first && t != nullptr);
        return t;
    }

    /// STEALTASK: one look at the member, number `m` of the range `r`. At each end of the range one of the
    /// two queues has tasks of the neighbouring range, and is left alone.
    task* steal(const member_range& r, int m) noexcept {
        if (has_migrated_of(r, m))
            if (task* const t = migrated_.try_pop_back()) return t;
        return has_local_of(r, m) ? local_.try_pop_back() : nullptr;
    }
    /// What the head runs belongs to `r`, since it came from the queue in use.
    bool runs_task_of(const member_range& r, int m) const noexcept {
        return uses_migrated() ? has_migrated_of(r, m) : has_local_of(r, m);
    }

private:
    bool uses_migrated() const noexcept { return uses_migrated_.load_relaxed(); }
    static bool has_migrated_of(const member_range& r, int m) noexcept { return m != r.lo; }
    static bool has_local_of(const member_range& r, int m) noexcept { return m != r.hi || r.edge; }

    queue::locked_list<task> mailbox_; // any worker puts in, the head takes out
    queue::locked_list<task> local_, migrated_;
    queue::cell<bool> uses_migrated_; // written by the head
};

} // namespace weft
