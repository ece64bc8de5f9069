#include "runtime/tasks.hpp"
#include "runtime/team.hpp"

#include "graph/data_versions.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

/// Which task waits for which: the children of one region, in the order in which it has created them, by the rules of
/// weft::graph (graph/data_versions.hpp).
namespace weft::openmp {

class dependences {
public:
    /// Calls `wait_for(u)` for predecessors that have not ended.
    template <class WaitFor>
    void add(region& task, const std::vector<dependence>& on, WaitFor&& wait_for) {
        forget_if_ended();
        task.number = static_cast<std::uint32_t>(tasks_.size());
        tasks_.push_back(&task);
        ++open_;
        if (region* const barrier = tasks_[all_memory_]) wait_for(*barrier);
        for (const dependence& d : on) {
            if (d.how == dependence::kind::all_memory) {
                wait_for_all(task, wait_for);
                continue;
            }
            versions_->access(versions_->find(d.address, nullptr), mode_of(d.how), task.number,
                              [&](std::uint32_t u) {
                                  if (region* const before = tasks_[u]) wait_for(*before);
                              });
        }
    }
    void remove(const region& task) noexcept {
        tasks_[task.number] = nullptr;
        --open_;
    }

    engine::without_ticks<queue::spin_lock<>> lock{};

private:
    static weft::impl::data_mode mode_of(dependence::kind k) noexcept {
        using mode = weft::impl::data_mode;
        switch (k) {
        case dependence::kind::in: return mode::read;
        case dependence::kind::in_out_set: return mode::concurrent;
        // Tasks of a set exclude each other, in any order: the order of their creation is one.
        case dependence::kind::mutex_in_out_set:
        case dependence::kind::out:
        case dependence::kind::in_out:
        case dependence::kind::all_memory: break;
        }
        return mode::write;
    }
    /// Behind all tasks before it; those after it wait for it.
    template <class WaitFor>
    void wait_for_all(const region& task, WaitFor&& wait_for) {
        for (region* const before : tasks_)
            if (before && before != &task) wait_for(*before);
        all_memory_ = task.number;
    }
    /// Numbers are never used again, so the memory of many tasks is given back when none of them is left.
    void forget_if_ended() {
        constexpr std::size_t many = 4096;
        if (open_ > 0 || tasks_.size() < many) return;
        versions_ = make_versions();
        tasks_.assign(1, nullptr);
        all_memory_ = 0;
    }

    static std::unique_ptr<data_versions> make_versions() { return std::make_unique<data_versions>(); }

    std::unique_ptr<data_versions> versions_ = make_versions();
    std::vector<region*> tasks_{nullptr}; ///< by number; null: it has ended
    std::uint32_t all_memory_ = 0;        ///< the last task with omp_all_memory; 0: none
    std::size_t open_ = 0;
};

namespace {

dependences& dependences_of(region& parent) {
    if (!parent.depends) parent.depends = new dependences; // the parent alone adds
    return *parent.depends;
}

/// Takes back the creator's own part of `missing`: true if no predecessor is left.
bool add(region& parent, region& task, const std::vector<dependence>& on) {
    dependences& d = dependences_of(parent);
    {
        const std::lock_guard guard(d.lock);
        task.missing.store(1, std::memory_order_relaxed); // no other thread knows the task
        d.add(task, on, [&](region& before) {
            successor* const last = before.node.successors;
            if (last && last->node == &task.node) return; // two dependences, one edge
            before.node.successors = new successor{&task.node, last};
            task.missing.fetch_add(1, std::memory_order_relaxed); // under the lock; the subtractions decide
        });
    }
    // acq_rel: what the predecessors have written, for the task
    return task.missing.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

} // namespace

bool add_dependences(region& parent, region& task, const std::vector<dependence>& on) {
    return add(parent, task, on);
}

void release_successors(region& task) {
    dependences& d = *task.parent->depends;
    successor* all = nullptr;
    {
        const std::lock_guard guard(d.lock);
        d.remove(task);
        all = std::exchange(task.node.successors, nullptr);
    }
    while (all) {
        const std::unique_ptr<successor> one(std::exchange(all, all->next));
        region& next = *one->node->task;
        const bool only_waits = next.code == nullptr; // the next line may be the end of such a one
        const void* const address = &next.missing;
        // acq_rel: what this task has written, for the one that starts; the same of the other predecessors
        if (next.missing.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
        if (only_waits)
            wake_all(address);
        else
            start_task(next);
    }
}

void wait_for_dependences(region& me, const std::vector<dependence>& on) {
    if (!me.depends) return;
    region wait; // takes the place of a task
    wait.parent = &me;
    if (!add(me, wait, on))
        wait_for_tasks(me, &wait.missing, [&] {
            return wait.missing.load(std::memory_order_acquire) == 0; // pairs with the subtraction above
        });
    const std::lock_guard guard(me.depends->lock);
    me.depends->remove(wait);
}

void free_dependences(region& parent) noexcept {
    delete parent.depends;
    parent.depends = nullptr;
}

} // namespace weft::openmp
