#pragma once

#include "queue/cell.hpp"
#include "task/task.hpp"

/// Which root has the range of all members. The thesis that ADWS is from has one root; here several may run,
/// and one of them at a time is *anchored*.
///
/// A root that finds the first worker free is invited: it is sent to that worker, which anchors it at its
/// start. Others run without a range. The words guard nothing but themselves: a wrong one leaves a root
/// without a range.
namespace weft {

class anchored_root {
public:
    /// Any worker. Returns whether `t` is invited now.
    bool invite(task& t) noexcept {
        if (anchored_.load_relaxed() != nullptr || first_worker_is_busy_.load_relaxed())
            return false; // hints
        task* none = nullptr;
        return invited_.compare_exchange(none, &t);
    }
    /// The first worker has taken the invited task.
    void arrived() noexcept { invited_.exchange(nullptr); }

    /// Returns whether `t` is anchored now.
    bool anchor(task& t) noexcept {
        task* none = nullptr;
        return anchored_.compare_exchange(none, &t);
    }
    /// The end of any task.
    void finished(const task& t) noexcept {
        if (anchored_.load_relaxed() == &t) anchored_.store_relaxed(nullptr);
    }

    /// By the first worker: whether it runs a task without a range.
    void first_worker_is_busy(bool busy) noexcept { first_worker_is_busy_.store_relaxed(busy); }

private:
    queue::cell<task*> anchored_; // written by the worker that runs it
    queue::cell<task*> invited_;  // in the mailbox of the first worker
    queue::cell<bool> first_worker_is_busy_;
};

} // namespace weft
