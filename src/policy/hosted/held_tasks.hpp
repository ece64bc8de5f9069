#pragma once

#include "policy/seam/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

namespace weft::hosted {

/// Tasks that are ready and that no worker has got yet, with their places, and shares of moldable tasks, each with its worker.
/// Once the hooks have failed they are given out first in, first out, a share to its worker only. The order is that of adding,
/// so the shares of any two tasks come to all workers in the same one.
class held_tasks {
public:
    void add(task& t, placement p) { held_[&t] = {p, no_worker, next_number_++}; }
    void add_share(task& t, worker_id of) { held_[&t] = {{of, {of, of + 1}}, of, next_number_++}; }
    bool holds(task* t) const { return held_.contains(t); }
    /// Of a task that it holds: the worker that runs this share; no_worker if it is none.
    worker_id only_for(task* t) const { return held_.find(t)->second.only; }
    std::size_t size() const noexcept { return held_.size(); }
    bool any_for(worker_id w) const {
        return std::ranges::any_of(held_, [w](const auto& h) { return h.second.p.who.contains(w); });
    }
    bool any_share() const {
        return std::ranges::any_of(held_, [](const auto& h) { return h.second.only != no_worker; });
    }
    /// Returns the place where it was.
    place_id take(task* t) {
        const auto found = held_.find(t);
        const place_id at = found->second.p.at;
        held_.erase(found);
        return at;
    }

    /// The hooks have failed.
    void line_up() {
        for (const auto& [t, at] : held_) line_.push_back(t);
        std::ranges::sort(line_, {}, [this](task* t) { return held_[t].number; });
    }
    /// After line_up(): where the policy cannot put it.
    void add_to_line(task& t, placement p) {
        add(t, p);
        line_.push_back(&t);
    }
    void add_share_to_line(task& t, worker_id of) {
        add_share(t, of);
        line_.push_back(&t);
    }
    /// The first of the line for that worker, or nothing.
    decision take_first(worker_id w) {
        const auto first = std::ranges::find_if(line_, [&](task* t) {
            const worker_id only = only_for(t);
            return only == no_worker || only == w;
        });
        if (first == line_.end()) return {};
        task* const t = *first;
        line_.erase(first);
        return {t, take(t)};
    }

    static constexpr worker_id no_worker = -1;

private:
    struct held {
        placement p;
        worker_id only = no_worker;
        std::uint64_t number = 0;
    };
    std::unordered_map<task*, held> held_;
    std::uint64_t next_number_ = 0;
    std::deque<task*> line_;
};

} // namespace weft::hosted
