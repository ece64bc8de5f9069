#include "policy/parts/packed_pools.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/locked_list.hpp"

#include <memory>

/// Thread packing: the tasks of N workers on fewer active ones, at equal shares.
///
///   S. Shiina: Efficient Thread Scheduling Strategies for Nested Parallel Programs. Master's thesis, University of
///   Tokyo 2021, 3.3.3, algorithm 3.1.
///
/// There is a pool for each worker, and each task has a home pool, to which it comes back whenever it is ready. With n
/// active workers each of them has floor(N / n) pools to itself, and all share the other N mod n. A worker runs one task
/// of its own pools, then one of the shared ones, and so on. So the tasks must be preempted: each then runs for one interval at
/// most. As printed, the algorithm counts workers from 0 and pools from 1, and leaves out one pool; here both
/// count from 0. Where the thesis is silent: a task comes back to the pool that it was taken from, and the
/// search of several pools begins behind the pool that had a task the last time.
namespace weft::policies {
namespace {

class packing final : public policy {
public:
    requirements attach(const machine&, policy_context& context) override {
        context_ = &context;
        count_ = context.all().size();
        pools_ = std::make_unique<pool[]>(static_cast<std::size_t>(count_));
        turns_ = std::make_unique<turns[]>(static_cast<std::size_t>(count_));
        return {.task_bytes = sizeof(home), .demotable = true, .resizable = true};
    }

    int pieces(worker_id, task&) override { return count_; }

    /// The children of a root have the pools in turn: those of a loop, or of a group of N, have one each.
    spawn_order spawn(worker_id, task& parent, task& child) override {
        const int first = parent.level() == 0 ? 0 : home_of(parent);
        child.data<home>().pool_and_1 = (first + child.index()) % count_ + 1;
        return spawn_order::parent_first;
    }

    placement ready(worker_id, task& t, ready_reason reason) override {
        const packed_pools split = now();
        const int at = home_of(t);
        if (reason == ready_reason::granted) // it was at its turn when the gate refused it
            pool_at(at).push_front(&t);
        else
            pool_at(at).push_back(&t);
        return {.at = at,
                .who = workers_for<queue::std_sync>(
                    at, split, [&] { return now().active; }, [&] { context_->wake(context_->active()); })};
    }

    // Always a full look, so a last one is no different.
    decision next(worker_id w, bool) override {
        const packed_pools split = now();
        if (w >= split.active) return {}; // it has become inactive
        bool& shared_next = turns_[static_cast<std::size_t>(w)].shared_next;
        for (int tries = 0; tries < 2; ++tries) {
            const bool shared = shared_next;
            shared_next = !shared;
            if (const decision found = shared ? of_shared(split) : of_own(w, split); found.t != nullptr)
                return found;
        }
        return {};
    }

    void resized(workers active) override { context_->wake(active); } // (P1)

private:
    struct home {
        int pool_and_1; ///< 0: a root, or a task of a graph
    };
    using pool = queue::locked_list<task>;
    struct alignas(queue::k_cache_line_bytes) turns { // only its worker touches it
        bool shared_next = false;
        int first_own = 0;
    };

    packed_pools now() const { return {.pools = count_, .active = context_->active().last}; }
    pool& pool_at(int at) noexcept { return pools_[static_cast<std::size_t>(at)]; }

    int home_of(const task& t) const noexcept {
        if (const int known = t.data<home>().pool_and_1; known > 0) return known - 1;
        const auto number = t.graph() != 0 ? t.graph_number() : static_cast<std::uint32_t>(t.root());
        return static_cast<int>(number % static_cast<std::uint32_t>(count_));
    }

    decision of_own(worker_id w, const packed_pools& split) {
        int& first = turns_[static_cast<std::size_t>(w)].first_own;
        for (int i = 0; i < split.of_each(); ++i) {
            const int which = (first + i) % split.of_each(), at = split.private_pool(w, which);
            if (task* const t = pool_at(at).try_pop_front()) {
                first = which + 1;
                return {t, at};
            }
        }
        return {};
    }

    decision of_shared(const packed_pools& split) {
        if (split.shared() == 0) return {};
        const std::uint32_t first = first_shared_.add(1);
        for (int i = 0; i < split.shared(); ++i) {
            const auto turn =
                (first + static_cast<std::uint32_t>(i)) % static_cast<std::uint32_t>(split.shared());
            const int at = split.privates() + static_cast<int>(turn);
            if (task* const t = pool_at(at).try_pop_front()) return {t, at};
        }
        return {};
    }

    policy_context* context_ = nullptr;
    int count_ = 0;
    std::unique_ptr<pool[]>
        pools_; ///< first in, first out, so that tasks which wait for each other take turns
    std::unique_ptr<turns[]> turns_;
    queue::cell<std::uint32_t> first_shared_; ///< counts the searches of the shared pools
};

} // namespace

extern constinit const policy_entry packing_entry{
    .name = "packing",
    .summary = "the tasks of all workers at equal shares on the active ones",
    .source = "Shiina 2021, 3.3.3, algorithm 3.1",
    .wants = "tasks that may be preempted, as many as there are workers, and about equal",
    .helps = "programs whose cores become fewer while they run",
    .knobs = {},
    .make = [](const knob_values&) -> std::unique_ptr<policy> { return std::make_unique<packing>(); },
};

} // namespace weft::policies
