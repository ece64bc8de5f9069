#pragma once

#include "policy/parts/fair_turns.hpp"
#include "policy/seam/policy.hpp"

#include "machine/domains.hpp"
#include "machine/machine.hpp"

#include "queue/cache_line.hpp"
#include "queue/locked_list.hpp"
#include "queue/pairing_heap.hpp"
#include "queue/spin_lock.hpp"

#include <weft/error.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// A queue for each memory node that has cores: for policies that send tasks to where their data lie. It does
/// not find out where data lie.
///
/// The task with the largest priority goes first. Among equal priorities, first comes the task that was put
/// in front last, then the one that was put behind first. Tasks that yielded wait in a list
/// beside the queue, so that none of them comes back before the others had their turn. A worker begins with
/// that list at every fair turn, and after many yields it looks at other nodes first (fair_turns.hpp).
namespace weft {

class node_queues {
public:
    struct task_part { ///< of the policy's bytes
        std::int64_t turn;
        std::int32_t priority;
        std::int32_t home; ///< queue + 1; 0: none yet
    };

    /// Allocates: for policy::attach. If no worker is to take from another node, throws weft::error if there
    /// are more workers than cores, since such workers cannot be kept to nodes.
    void attach(const machine& m, policy_context& context, bool takes_from_others) {
        cores_ = m.size();
        context_ = &context;
        takes_from_others_ = takes_from_others;
        if (!takes_from_others && context.all().size() > m.size())
            throw error("a policy that keeps tasks on their nodes has more workers than there are cores",
                        std::to_string(context.all().size()) + " workers",
                        "at most " + std::to_string(m.size()) + ", or steal=on");
        nodes_ = domains(m, domain_kind::memory_node);
        of_node_.assign(static_cast<std::size_t>(nodes_.count()), -1);
        int count = 0;
        for (int node = 0; node < nodes_.count(); ++node)
            if (nodes_.ranks(node).size() > 0) of_node_[static_cast<std::size_t>(node)] = count++;
        queues_ = std::make_unique<one_queue[]>(static_cast<std::size_t>(count));
        count_ = count;
        turns_ = std::make_unique<worker_part[]>(static_cast<std::size_t>(context.all().size()));
        for (int node = 0; node < nodes_.count(); ++node) {
            if (of_node(node) < 0) continue;
            one_queue& q = at(of_node(node));
            q.ranks = nodes_.ranks(node);
            for (const int other : nodes_.others(node)) q.others.push_back(of_node(other));
        }
    }

    int count() const noexcept { return count_; }
    /// The queue of a memory node; -1 for a node without cores.
    int of_node(int node) const noexcept {
        return node < 0 || node >= static_cast<int>(of_node_.size())
                   ? -1
                   : of_node_[static_cast<std::size_t>(node)];
    }
    int of_worker(worker_id w) const noexcept { return of_node(nodes_.of(context_->core_of(w))); }

    /// `t` goes to a queue, in front of its equals or behind them.
    placement put(int queue, task& t, ready_reason reason, int priority, bool in_front, worker_id w) {
        one_queue& q = at(queue);
        auto& own = t.data<task_part>();
        own.home = queue + 1;
        own.priority = priority;
        if (goes_behind(reason)) {
            turns_[static_cast<std::size_t>(w)].own.yielded();
            q.behind.push_back(&t);
        } else {
            q.lock.lock();
            own.turn = in_front ? --q.front : ++q.back;
            q.tasks.push(&t);
            q.lock.unlock();
        }
        if (!takes_from_others_) return {queue_place(queue), {q.ranks.first, q.ranks.last}};
        const bool has_own_workers = context_->all().size() <= cores_;
        return {queue_place(queue), context_->active(), has_own_workers ? q.ranks.first : -1};
    }

    /// What a worker takes: from its own queue, otherwise from one other queue; a last look tries all of
    /// them.
    decision next(worker_id w, bool last_look) noexcept {
        fair_turns& mine = turns_[static_cast<std::size_t>(w)].own;
        const int home = of_worker(w);
        one_queue& q = at(home);
        if (mine.begin() != turn::usual)
            if (task* const t = q.behind.try_pop_front()) return {t, queue_place(home)};
        if (task* const t = pop(q)) return {t, queue_place(home)};
        const bool waits = mine.sees_only_yields() && takes_from_others_ && !last_look;
        if (waits) mine.looked_elsewhere();
        if (!waits)
            if (task* const t = q.behind.try_pop_front()) return {t, queue_place(home)};
        if (!takes_from_others_ || q.others.empty()) return {};
        const auto look = [&](int other) -> task* {
            if (task* const t = pop(at(other))) return t;
            return at(other).behind.try_pop_front();
        };
        if (!last_look) {
            const int other = q.others[mine.begun() % q.others.size()];
            return {look(other), queue_place(other)};
        }
        for (const int other : q.others)
            if (task* const t = look(other)) return {t, queue_place(other)};
        return {};
    }

private:
    struct goes_first {
        bool operator()(task& a, task& b) const noexcept {
            const auto &x = a.data<task_part>(), &y = b.data<task_part>();
            return x.priority != y.priority ? x.priority > y.priority : x.turn < y.turn;
        }
    };
    struct alignas(queue::k_cache_line_bytes) one_queue {
        queue::spin_lock<> lock; // of the four below
        queue::pairing_heap<task, goes_first> tasks;
        std::int64_t front = 0, back = 0;
        queue::locked_list<task> behind; // any worker
        rank_range ranks;                // fixed, as is the next one
        std::vector<int> others;         // nearest first
    };
    struct alignas(queue::k_cache_line_bytes) worker_part { // only its worker touches it
        fair_turns own;
    };

    one_queue& at(int queue) noexcept { return queues_[static_cast<std::size_t>(queue)]; }
    /// Places up to the last rank are the workers' own.
    place_id queue_place(int queue) const noexcept { return context_->all().size() + queue; }
    static task* pop(one_queue& q) noexcept {
        q.lock.lock();
        task* const t = q.tasks.pop();
        q.lock.unlock();
        return t;
    }

    policy_context* context_ = nullptr;
    domains nodes_;
    std::vector<int> of_node_; // queue of each memory node
    std::unique_ptr<one_queue[]> queues_;
    std::unique_ptr<worker_part[]> turns_;
    int count_ = 0, cores_ = 0;
    bool takes_from_others_ = true;
};

} // namespace weft
