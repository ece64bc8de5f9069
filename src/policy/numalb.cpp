#include "policy/parts/cluster_policy.hpp"
#include "policy/parts/numa_balance.hpp"
#include "policy/seam/registry.hpp"

#include "queue/spin_lock.hpp"

#include "machine/domains.hpp"
#include "machine/machine.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// Balancing of a graph's tasks over the cores, by the time they took in its last run and by their messages.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 4.3.6,
///   equations (4.3) and (4.4); after the NUMALB of L. L. Pilla et al. for Charm++.
///
/// In Charm++, objects that live long are moved between cores at certain steps. Here the tasks of a graph
/// that runs again are such objects, known by their numbers, and each start of a run is a step. The load of a
/// task is the time that it took in the run before; in the first run it is the hint `work`, otherwise 1. A
/// message is an edge of the graph, one in each run. numa_balance.hpp has the cost and the list scheduling.
/// Forks and other tasks stay where they become ready, and idle workers steal them.
///
/// One run is balanced at a time (lock_, which is only ever tried). Tasks of other runs, and those beyond
/// `tasks`, are treated like forks. The book has no stealing; here a worker that is about to sleep looks
/// everywhere.
namespace weft::policies {
namespace {

constexpr knob numalb_knobs[] = {
    {"alpha", "1000", "0..1000000000", "weight of a message beside nanoseconds of load"},
    {"tasks", "65536", "1..16777216", "tasks of a graph that are balanced, at most"},
};

class numa_balancing final : public cluster_policy {
public:
    numa_balancing(std::int64_t alpha, std::int64_t tasks)
        : alpha_(static_cast<double>(alpha))
        , most_(static_cast<std::size_t>(tasks)) {}

    requirements attach(const machine& m, policy_context& context) override {
        cluster_policy::attach(m, context);
        const auto workers = static_cast<std::size_t>(context.all().size());
        const domains nodes(m, domain_kind::memory_node);
        factors_.nodes = nodes.count();
        factors_.of.clear();
        for (int i = 0; i < factors_.nodes; ++i)
            for (int j = 0; j < factors_.nodes; ++j) {
                const auto there = m.node_latency_ns(i, j), here = m.node_latency_ns(i, i);
                factors_.of.push_back(there && here ? *there / *here
                                                    : m.node_distance(i, j) / m.node_distance(i, i));
            }
        for (worker_id w = 0; w < context.all().size(); ++w)
            node_of_worker_.push_back(nodes.of(context.core_of(w)));
        took_ = std::make_unique<queue::cell<std::int64_t>[]>(most_);
        shown_ = std::make_unique<queue::cell<int>[]>(most_);
        load_.resize(most_);
        place_.resize(most_);
        for (std::size_t i = 0; i < most_; ++i) place_[i] = static_cast<int>(i % workers);
        room_.order.resize(most_);
        room_.on_core.resize(workers);
        room_.messages.resize(static_cast<std::size_t>(factors_.nodes));
        return {.own_usage = true, .demotable = true, .resizable = true, .levels = true};
    }

    void graph_grew(worker_id, const graph_view& g) override {
        if (g.first_new() > 0 || !lock_.try_lock()) return;
        balanced_.store_relaxed(0); // tasks of an older run that come meanwhile are not of this one
        const std::size_t count = std::min<std::size_t>(g.size(), most_);
        for (std::size_t i = 0; i < count; ++i) {
            const double known = static_cast<double>(took_[i].load_relaxed());
            const double hinted = g.hint(static_cast<std::uint32_t>(i)).work;
            load_[i] = known > 0 ? known : std::isfinite(hinted) && hinted > 0 ? hinted : 1;
        }
        numa_balance({load_.data(), count}, {place_.data(), count}, node_of_worker_, factors_, alpha_, room_,
                     [&](std::uint32_t t, auto&& f) {
                         auto each = [&](std::uint32_t other) {
                             if (other < count) f(other, 1.0);
                         };
                         const auto call = [](void* with, std::uint32_t other) {
                             (*static_cast<decltype(each)*>(with))(other);
                         };
                         g.predecessors(t, call, &each);
                         g.successors(t, call, &each);
                     });
        for (std::size_t i = 0; i < count; ++i) shown_[i].store_relaxed(place_[i]);
        size_.store_relaxed(static_cast<std::uint32_t>(count));
        balanced_.store_release(g.id()); // pairs with the load in ready()
        lock_.unlock();
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (reason == ready_reason::released && is_balanced(t)) {
            const worker_id worker = shown_[t.graph_number()].load_relaxed();
            placement at = places_.put_behind(worker, t);
            at.near = worker;
            return at;
        }
        return cluster_policy::ready(w, t, reason);
    }

    decision next(worker_id w, bool last) override {
        if (const decision own = places_.own(w, last); own.t != nullptr) return own;
        if (last) return last_look(w);
        // The deque alone: what lies behind was put there by the balance.
        const worker_id v = places_.random_victim(w);
        if (v < 0 || (places_.length(v) == 0 && !places_.keeps_behind(w))) return {nullptr, w};
        return {places_.look(v).t, v};
    }

    void finished(worker_id, task& t, const usage& used) override {
        if (!used.cancelled && t.graph() != 0 && t.graph_number() < most_)
            took_[t.graph_number()].store_relaxed(used.self);
    }

private:
    bool is_balanced(const task& t) const noexcept {
        return t.graph() != 0 && balanced_.load_acquire() == t.graph() && // pairs with the store above
               t.graph_number() < size_.load_relaxed();
    }

    const double alpha_;
    const std::size_t most_;
    numa_factors factors_;
    std::vector<int> node_of_worker_;
    std::unique_ptr<queue::cell<int>[]> shown_;         ///< place_, also read while the next run is balanced
    std::unique_ptr<queue::cell<std::int64_t>[]> took_; ///< in the last run that ended it
    queue::spin_lock<> lock_;                           ///< of the three below, for writing
    std::vector<double> load_;
    std::vector<int> place_;
    numa_scratch room_;
    queue::cell<std::uint64_t> balanced_; ///< the run that place_ is of; 0: none
    queue::cell<std::uint32_t> size_;
};

} // namespace

extern constinit const policy_entry numalb_entry{
    .name = "numalb",
    .summary = "tasks of a graph on cores by their time in the last run and by their messages",
    .source = "Chen & Guo 2017, 4.3.6, equations (4.3) and (4.4); after Pilla et al.",
    .wants = "graphs that run again and again",
    .helps = "machines of several memory nodes, with tasks of unequal and steady cost",
    .knobs = numalb_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<numa_balancing>(values.integer("alpha"), values.integer("tasks"));
    },
};

} // namespace weft::policies
