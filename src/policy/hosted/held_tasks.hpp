#pragma once

#include "policy/seam/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <unordered_map>

namespace weft::hosted {

/// Tasks that are ready and that no worker has got yet, with their places. Once the hooks have failed they are
/// given out first in, first out.
class held_tasks {
public:
    void add(task& t, placement p) { held_[&t] = p; }
    bool holds(task* t) const { return held_.contains(t); }
    std::size_t size() const noexcept { return held_.size(); }
    bool any_for(worker_id w) const {
        return std::ranges::any_of(held_, [w](const auto& h) { return h.second.who.contains(w); });
    }
    /// Returns the place where it was.
    place_id take(task* t) {
        const auto held = held_.find(t);
        const place_id at = held->second.at;
        held_.erase(held);
        return at;
    }

    /// The hooks have failed.
    void line_up() {
        for (const auto& [t, at] : held_) line_.push_back(t);
    }
    /// After line_up(): where the policy cannot put it.
    void add_to_line(task& t, placement p) {
        add(t, p);
        line_.push_back(&t);
    }
    /// The first of the line, or nothing.
    decision take_first() {
        if (line_.empty()) return {};
        task* const t = line_.front();
        line_.pop_front();
        return {t, take(t)};
    }

private:
    std::unordered_map<task*, placement> held_;
    std::deque<task*> line_;
};

} // namespace weft::hosted
