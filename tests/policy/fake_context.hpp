#pragma once

#include "policy/seam/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

/// What drives a policy without an engine: workers on cores of the same numbers, random numbers that the test
/// writes down or that come from a seed, and a list of what the policy asked for.
namespace weft::test {

/// A task with room for the bytes of any policy, as an engine makes it.
struct task_with_bytes : task {
    alignas(std::max_align_t) std::byte bytes[max_task_bytes]{};
};
static_assert(sizeof(task_with_bytes) == sizeof(task) + max_task_bytes, "they are right behind the record");

class fake_context final : public policy_context {
public:
    explicit fake_context(int workers, std::uint32_t seed = 1) : workers_(workers), state_(seed) {
        for (int w = 0; w < workers; ++w) cores.push_back(w);
    }

    workers all() const override { return {0, workers_}; }
    workers active() const override { return {0, active_workers < 0 ? workers_ : active_workers}; }
    int core_of(worker_id w) const override { return cores[static_cast<std::size_t>(w)]; }
    time_ns now() const override { return time; }

    /// The next of `draws` if there is one, else by the seed.
    std::uint32_t random(worker_id, std::uint32_t below) override {
        bounds.push_back(below);
        if (!draws.empty()) {
            const std::uint32_t drawn = draws.front();
            draws.pop_front();
            return drawn % below;
        }
        state_ = state_ * 1664525U + 1013904223U;
        return static_cast<std::uint32_t>((static_cast<std::uint64_t>(state_) * below) >> 32U);
    }

    void wake(workers range) override { woken.push_back(range); }
    void post(worker_id from, worker_id to, int kind, task* t) override {
        posted_to.push_back(to);
        messages.push_back({from, to, kind, t});
    }

    snapshot running(worker_id w) const override {
        return static_cast<std::size_t>(w) < runs.size() ? runs[static_cast<std::size_t>(w)] : snapshot{};
    }

    bool exchange(worker_id a, worker_id b) override {
        exchanged.push_back({a, b});
        if (!can_exchange) return false;
        std::swap(cores[static_cast<std::size_t>(a)], cores[static_cast<std::size_t>(b)]);
        return true;
    }

    std::vector<snapshot> runs; ///< by worker
    std::vector<std::pair<worker_id, worker_id>> exchanged;
    bool can_exchange = true;
    std::vector<int> cores;
    std::deque<std::uint32_t> draws;
    std::vector<std::uint32_t> bounds; ///< the `below` of every draw
    std::vector<workers> woken;
    std::vector<worker_id> posted_to;
    struct message {
        worker_id from, to;
        int kind;
        task* t;
    };
    std::deque<message> messages; ///< posted and not delivered yet; the test plays the network
    int active_workers = -1;      ///< all
    time_ns time = 0;

private:
    int workers_;
    std::uint32_t state_;
};

/// A tree of tasks by number, and what one worker makes of it: task 0 is handed in as a root, the children of
/// a task are spawned in order, and nothing is ever waited for. Gives the order in which tasks start.
class tree_walk {
public:
    using tree = std::vector<std::vector<int>>; ///< children of each task

    explicit tree_walk(tree children) : children_(std::move(children)), spawned_(children_.size()) {
        for (std::size_t i = 0; i < children_.size(); ++i)
            records_.emplace_back().index_ = static_cast<int>(i);
    }

    std::vector<int> run(policy& p) {
        std::vector<int> order_of_start;
        offer(p, records_[0], ready_reason::root);
        while (task* t = p.next(0, true).t) {
            --pending_;
            if (t->fresh()) start(*t, order_of_start);
            while (true) {
                const auto at = static_cast<std::size_t>(number(*t));
                if (spawned_[at] == children_[at].size()) break;
                task& child = records_[static_cast<std::size_t>(children_[at][spawned_[at]++])];
                if (p.spawn(0, *t, child) == spawn_order::child_first) {
                    t->state_ = task_state::suspended;
                    offer(p, *t, ready_reason::continuation);
                    t = &child;
                    start(*t, order_of_start);
                } else {
                    offer(p, child, ready_reason::spawned);
                }
            }
        }
        return order_of_start;
    }

    int most_pending() const { return most_pending_; } ///< ready and not running, at one time

private:
    int number(const task& t) const { return t.index_; }
    void offer(policy& p, task& t, ready_reason reason) {
        most_pending_ = std::max(most_pending_, ++pending_);
        p.ready(0, t, reason);
    }
    void start(task& t, std::vector<int>& order_of_start) {
        t.state_ = task_state::running;
        order_of_start.push_back(number(t));
    }

    tree children_;
    std::vector<std::size_t> spawned_;
    std::deque<task_with_bytes> records_;
    int pending_ = 0, most_pending_ = 0;
};

} // namespace weft::test
