#pragma once

#include "replay/script.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::replay {

/// The actions of all tasks in the order of time, while the trace is read.
class action_list {
public:
    /// Index of the action that say() adds next.
    std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(all_.size()); }
    action& at(std::uint32_t i) { return all_[i].second; }

    void say(row t, const action& a) {
        last_of(t) = size();
        all_.emplace_back(t, a);
    }
    /// `t` computes for `ns`. Adds to the task's last action if that is a computation, too.
    void compute(row t, std::int64_t ns) {
        const auto more = static_cast<std::uint64_t>(ns);
        const std::uint32_t last = last_of(t);
        if (last != none && at(last).what == act::compute)
            at(last).a += more;
        else
            say(t, {.a = more, .what = act::compute});
    }
    /// A new task has row `t`.
    void begin(row t) { last_of(t) = none; }

    /// Gives each task of `s` its own actions in one piece. Adds tasks that only have actions.
    void gather_into(script& s) const {
        if (s.tasks.size() < last_.size()) s.tasks.resize(last_.size());
        std::vector<std::uint32_t> next(s.tasks.size() + 1, 0);
        for (const auto& [t, a] : all_) ++next[t + 1];
        for (std::size_t t = 0; t < s.tasks.size(); ++t) {
            next[t + 1] += next[t];
            s.tasks[t].first = next[t];
            s.tasks[t].last = next[t + 1];
        }
        s.actions.resize(all_.size());
        for (const auto& [t, a] : all_) s.actions[next[t]++] = a;
    }

private:
    static constexpr std::uint32_t none = 0xffff'ffff;

    std::uint32_t& last_of(row t) {
        if (last_.size() <= t) last_.resize(t + 1, none);
        return last_[t];
    }

    std::vector<std::pair<row, action>> all_;
    std::vector<std::uint32_t> last_; ///< by row: index of the task's last action
};

} // namespace weft::replay
