#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::trace {

/// The tasks on the stack of the one worker, and the parts of stacks that are put aside: docs/trace-format.md, "What a worker
/// does when". Tasks are rows of a table; 0 is none.
class running_tasks {
public:
    std::uint32_t top() const noexcept { return stack_.empty() ? 0 : stack_.back().task; }
    /// `is_below`: the task began on top of its parent.
    void push(std::uint32_t task, bool is_below) { stack_.push_back({task, is_below}); }
    /// The task has ended, and with it what lies on top of it.
    void remove(std::uint32_t task) noexcept {
        if (top() == task) return stack_.pop_back();
        const auto found = std::ranges::find(stack_, task, &entry::task);
        stack_.erase(found, stack_.end());
    }
    /// The task and all below it leave the worker.
    void suspend(std::uint32_t task) { asides_[task] = {std::exchange(stack_, {})}; }
    /// The task, and what runs inside it up to the first child on top of it, is offered to others.
    void expose(std::uint32_t task) {
        const auto first = std::ranges::find(stack_, task, &entry::task);
        if (first == stack_.end()) return; // the second closure of a join
        const auto child = std::find_if(first + 1, stack_.end(), [](const entry& e) { return e.is_below; });
        if (child == stack_.end()) return;
        asides_[task] = {{first, child}, child->task};
        stack_.erase(first, child);
    }
    /// What was put aside under the task comes back.
    void restore(std::uint32_t task) {
        const auto found = asides_.find(task);
        if (found == asides_.end()) return;
        const aside a = std::move(found->second);
        asides_.erase(found);
        // If the offer was taken back, the child is still on the stack.
        const auto child = a.child ? std::ranges::find(stack_, a.child, &entry::task) : stack_.end();
        stack_.insert(child, a.entries.begin(), a.entries.end());
    }

private:
    struct entry {
        std::uint32_t task;
        bool is_below;
    };
    struct aside {
        std::vector<entry> entries{};
        std::uint32_t child = 0; ///< the rest was exposed under this task; 0: it was suspended
    };

    std::vector<entry> stack_;
    std::unordered_map<std::uint32_t, aside> asides_;
};

} // namespace weft::trace
