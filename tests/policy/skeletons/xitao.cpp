#include "policy/parts/places.hpp"

#include "queue/cell.hpp"
#include "queue/spin_lock.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

/// XiTAO with its performance trace table: A. Rohlin, H. Fahlgren, M. Pericas: Performance-aware scheduling
/// of mixed-mode DAGs on heterogeneous cores.
///
/// A node that a worker finds is molded into shares, one for each core of an elastic place of adjacent cores;
/// each of them takes shares from its assembly queue in order. Critical nodes go where the table says that
/// they end first.
namespace weft::policies::skeletons {
namespace {

class xitao : public policy {
    static constexpr int classes = 32, widths = 8;
    struct bytes {
        bool is_share; // zero at birth: a node
    };

public:
    requirements attach(const machine&, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        const auto count = static_cast<std::size_t>(context.all().size());
        assembly_ = std::make_unique<queue::locked_list<task>[]>(count);
        table_ = std::make_unique<row[]>(count);
        return {.task_bytes = sizeof(bytes), .own_usage = true, .molds = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (t.data<bytes>().is_share) { // one that blocked resumes where it was
            assembly_[static_cast<std::size_t>(w)].push_front(&t);
            return {w, {w, w + 1}};
        }
        return places_.put(w, t, reason);
    }

    decision next(worker_id w,
                  bool last_look) override { // each failed steal is followed by a look at the assembly queue
        if (task* const share = assembly_[static_cast<std::size_t>(w)].try_pop_front()) return {share, w};
        decision found = places_.own(w, last_look);
        if (found.t == nullptr) {
            const worker_id victim = places_.random_victim(w);
            if (victim < 0) return {};
            found = last_look ? places_.look_everywhere(w, victim) : decision{places_.look(victim).t, victim};
        }
        if (found.t == nullptr || !found.t->fresh() || found.t->width() == 1) return found;
        assemble(w, *found.t);
        return {assembly_[static_cast<std::size_t>(w)].try_pop_front(), w};
    }

    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

    void started(worker_id, task& t) override {
        int known = running_criticality_.load_relaxed();
        while (known < t.bottom_level() && !running_criticality_.compare_exchange(known, t.bottom_level())) {}
    }

    void finished(worker_id w, task& t, const usage& used) override {
        int mine = t.bottom_level();
        running_criticality_.compare_exchange(mine, 0); // sketch: the next highest is found at the next start
        if (!t.data<bytes>().is_share || t.rank() != 0) return; // the leader's time counts
        auto& saved = entry(t, w, t.width());
        const float old = saved.load_relaxed(), sample = static_cast<float>(used.wall);
        saved.store_relaxed(old == 0 ? sample : (4 * old + sample) / 5);
    }

private:
    struct alignas(64) row { // of one core, written by it alone
        std::array<std::array<queue::cell<float>, widths>, classes> time;
    };

    queue::cell<float>& entry(const task& t, int core, int width) {
        const auto type = std::hash<std::string_view>{}(t.hint().name) % classes; // sketch
        const auto log_width = static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(width)));
        return table_[static_cast<std::size_t>(core)].time[type][log_width];
    }

    void assemble(worker_id w, task& node) {
        const int width = std::min(node.width(), context_->active().size());
        worker_id leader = w / width * width;
        if (node.bottom_level() >= running_criticality_.load_relaxed()) { // critical: where it ends first
            for (worker_id l = 0; l + width <= context_->active().last; l += width) {
                if (entry(node, l, width).load_relaxed() < entry(node, leader, width).load_relaxed())
                    leader = l;
            }
        }
        const std::span<task*> shares = context_->mold(node, width);
        cluster_
            .lock(); // two nodes must stand in the same order in all queues; else a barrier in them deadlocks
        for (std::size_t r = 0; r < shares.size(); ++r) {
            shares[r]->data<bytes>().is_share = true;
            assembly_[static_cast<std::size_t>(leader) + r].push_back(shares[r]);
        }
        cluster_.unlock();
        context_->wake({leader, leader + width});
    }

    policy_context* context_ = nullptr;
    places places_;
    std::unique_ptr<queue::locked_list<task>[]> assembly_;
    std::unique_ptr<row[]> table_;
    queue::cell<int> running_criticality_;
    queue::spin_lock<> cluster_; // sketch: one cluster
};

[[maybe_unused]] const auto make = [] { return std::make_unique<xitao>(); };

} // namespace
} // namespace weft::policies::skeletons
