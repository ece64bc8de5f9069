#include "policy/parts/fair_turns.hpp"
#include "policy/parts/serial_order.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"
#include "queue/locked_list.hpp"
#include "queue/pairing_heap.hpp"
#include "queue/spin_lock.hpp"

#include <memory>

/// Parallel depth-first: a free worker gets, of all ready tasks, the one that a serial program would come to
/// first.
///
///   G. E. Blelloch, P. B. Gibbons, Y. Matias: Provably efficient scheduling for languages with fine-grained
///   parallelism. JACM 46(2), 1999; Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel
///   Architectures. Springer 2017, 3.2.
///
/// One queue for all workers is sorted by serial_order.hpp. A spawn is child-first, since the child comes
/// before the rest of its parent. So p workers are never far ahead of a serial run, and share its cache.
///
/// I1. next() gives the first ready task, with two exceptions: roots that have not begun come after all tasks
///     that have, and tasks that yielded come last.
/// I2. Every 64th call of a worker begins alternately with a root or with a task that yielded, as in
///     places.hpp.
namespace weft::policies {
namespace {

class parallel_depth_first final : public policy {
public:
    requirements attach(const machine&, policy_context& context) override {
        context_ = &context;
        turns_ = std::make_unique<turns[]>(static_cast<std::size_t>(context.all().size()));
        return {.task_bytes = sizeof(serial_order::node), .demotable = true, .resizable = true};
    }

    placement ready(worker_id, task& t, ready_reason reason) override {
        const placement at{context_->all().size(), context_->active()};
        if (reason == ready_reason::root) {
            roots_.push_back(&t);
        } else if (goes_behind(reason)) {
            behind_.push_back(&t);
        } else {
            const serial_order::guard held(lock_);
            if (!serial_order::is_placed(t)) serial_order::place(t);
            ready_.push(&t);
        }
        return at;
    }

    // Always a full look, so a last one is no different.
    decision next(worker_id w, bool) override {
        const place_id at = context_->all().size();
        if (const turn now = turns_[static_cast<std::size_t>(w)].own.begin(); now != turn::usual) {
            const bool roots_first = now == turn::odd_fair; // I2
            if (task* const t = (roots_first ? roots_ : behind_).try_pop_front()) return {t, at};
            if (task* const t = (roots_first ? behind_ : roots_).try_pop_front()) return {t, at};
        }
        task* t = first_ready(); // I1
        if (t == nullptr) t = roots_.try_pop_front();
        if (t == nullptr) t = behind_.try_pop_front();
        return {t, at};
    }

    spawn_order spawn(worker_id, task& parent, task& child) override {
        const serial_order::guard held(lock_);
        serial_order::place_before(child, parent);
        return spawn_order::child_first;
    }

    void finished(worker_id, task& t, const usage&) override {
        const serial_order::guard held(lock_);
        serial_order::take_out(t);
    }

private:
    struct alignas(queue::k_cache_line_bytes) turns { // only its worker touches it
        fair_turns own;
    };

    task* first_ready() noexcept {
        const serial_order::guard held(lock_);
        return ready_.pop();
    }

    policy_context* context_ = nullptr;
    std::unique_ptr<turns[]> turns_;
    queue::spin_lock<> lock_; // of ready_, and of the order
    queue::pairing_heap<task, serial_order::earlier> ready_;
    queue::locked_list<task> roots_, behind_;
};

} // namespace

extern constinit const policy_entry pdf_entry{
    .name = "pdf",
    .summary = "one queue for all, in the order of a serial run",
    .source = "Blelloch, Gibbons, Matias, JACM 1999; Chen & Guo 2017, 3.2",
    .helps = "cores that share a cache: together they work on what a serial run has in it; little memory",
    .knobs = {},
    .make = [](const knob_values&) -> std::unique_ptr<policy> {
        return std::make_unique<parallel_depth_first>();
    },
};

} // namespace weft::policies
