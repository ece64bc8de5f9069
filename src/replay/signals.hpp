#pragma once

#include "replay/action_list.hpp"
#include "replay/script.hpp"

#include <cstdint>
#include <unordered_map>

namespace weft::replay {

/// Turns suspensions and releases into signals: a task that was released by another task awaits a signal; a
/// task that a timer or a plain thread released sleeps as long as it was suspended.
class signals {
public:
    explicit signals(action_list& actions) : actions_(actions) {}

    void suspend(row t, std::int64_t when) {
        if (const auto early = given_.find(t); early != given_.end()) {
            actions_.say(t, {.n = early->second, .what = act::await});
            given_.erase(early);
            return;
        }
        waiting_[t] = {actions_.size(), when};
        actions_.say(t, {.what = act::sleep});
    }

    /// A timer, or a thread that is not a worker, releases `t`.
    void release_from_outside(row t, std::int64_t when) {
        const auto waiting = waiting_.find(t);
        if (waiting == waiting_.end()) return;
        const std::int64_t slept = when - waiting->second.since;
        actions_.at(waiting->second.action).a = slept > 0 ? static_cast<std::uint64_t>(slept) : 0;
        waiting_.erase(waiting);
    }

    void release(row by, row t) {
        const std::uint32_t signal = count_++;
        actions_.say(by, {.n = signal, .what = act::release});
        const auto waiting = waiting_.find(t);
        if (waiting == waiting_.end()) {
            given_[t] = signal; // it is about to suspend
            return;
        }
        actions_.at(waiting->second.action) = {.n = signal, .what = act::await};
        waiting_.erase(waiting);
    }

    std::uint32_t count() const noexcept { return count_; }

private:
    struct pending {
        std::uint32_t action; ///< index into the list of actions
        std::int64_t since;
    };

    action_list& actions_;
    std::uint32_t count_ = 0;
    std::unordered_map<row, pending> waiting_;     ///< suspended tasks; what releases them is not known yet
    std::unordered_map<row, std::uint32_t> given_; ///< signals that came before their task was suspended
};

/// Where events are missing, the task that gives a signal may have no parent in the script and never run.
/// The tasks that await such a signal do not wait for it.
void forget_lost_signals(script&);

} // namespace weft::replay
