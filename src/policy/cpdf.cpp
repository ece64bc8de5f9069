#include "policy/parts/fair_turns.hpp"
#include "policy/parts/serial_order.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"
#include "queue/locked_list.hpp"
#include "queue/pairing_heap.hpp"
#include "queue/spin_lock.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

/// Controlled parallel depth-first: subtrees that fit the shared cache run one after another. Inside of them,
/// subtrees that fit a private cache run in parallel, each on one core.
///
///   G. E. Blelloch, R. A. Chowdhury, P. B. Gibbons, V. Ramachandran, S. Chen, M. Kozuch: Provably good
///   multicore cache performance for divide-and-conquer algorithms. SODA 2008; Q. Chen, M. Guo: Task
///   Scheduling for Multi-core and Parallel Architectures. Springer 2017, 3.2.5.
///
/// The space of a task is hints::bytes, what it and its descendants touch.
///
///     kind          | the task                                  | when it runs
///     --------------|-------------------------------------------|-----------------------------------------------
///     above         | more than `l2` bytes                      | one at a time, in serial order
///     L2-supernode  | the largest subtree of at most `l2` bytes | one is open at a time, and only while no task
///                   |                                           | above runs
///     L1-supernode  | the largest subtree of at most `l1` bytes | silently on one worker; no worker asks for its
///                   | in an L2-supernode                        | frames
///     free          | no size, and no task with a size around   | at any time
///                   | it                                        |
///
/// A free worker gets the first task, in the serial order (serial_order.hpp), of those that may run. A task
/// without a size is what its parent is. So inside of an L2-supernode it remains outside of any L1-supernode.
///
/// I1. While no task stalls or yields, `taken_` is at most 1: the one open L2-supernode, or the one task
///     above that runs. It is 2 at the moment when one of them hands over to the other.
/// I2. What is held back runs in the end. If no worker runs a task of this policy though something is taken,
///     and no task has yielded, then all open tasks wait, maybe for a held one; so the first held task is let
///     go as well. The same holds for a worker that has seen only tasks that yield (fair_turns.hpp).
/// I3. The worker that makes I2 or the end of a turn true wakes all workers. It may not look again itself,
///     because it becomes inactive or goes to a team.
/// I4. A task with silent descendants is in no list (serial_order.hpp): its links would be copied.
///
/// The book does not define the order above the L2-supernodes, nor what to do with a task that has no space
/// function; both are answered above. The policy is for one socket: the machine's first cache of each level
/// counts.
namespace weft::policies {
namespace {

constexpr knob cpdf_knobs[] = {
    {"l2", "0", "0..1000000000000", "bytes of the cache that all cores share; 0: as the machine says"},
    {"l1", "0", "0..1000000000000",
     "bytes of the largest cache that is a core's own; 0: as the machine says"},
};

class controlled_depth_first final : public policy {
public:
    controlled_depth_first(std::size_t l1, std::size_t l2) : l1_(l1), l2_(l2) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        mine_ = std::make_unique<worker_part[]>(static_cast<std::size_t>(context.all().size()));
        open_tops_.reserve(static_cast<std::size_t>(2 * context.all().size()));
        const cache* const shared = m.last_level_cache_of(0);
        if (l2_ == 0)
            l2_ = shared != nullptr && shared->bytes > 0 ? static_cast<std::size_t>(shared->bytes)
                                                         : std::numeric_limits<std::size_t>::max();
        if (l1_ == 0)
            for (const int i : m.caches_of(0)) {
                const cache& c = m.caches()[static_cast<std::size_t>(i)];
                if (&c != shared) l1_ = std::max(l1_, static_cast<std::size_t>(c.bytes));
            }
        return {.task_bytes = sizeof(task_part), .demotable = true, .resizable = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        const placement at{context_->all().size(), context_->active()};
        const serial_order::guard held(lock_);
        if (mine(w).runs == &t) stops(w);
        task_part& part = of(t);
        if (!serial_order::is_placed(t)) {
            serial_order::place(t);
            classify(t, nullptr);
        }
        // A frame has the bytes of its task, and may lie where the ended top of these bytes lay.
        if (reason == ready_reason::exposed && t.fresh() && part.top == &t)
            part.top = nullptr, part.is = kind::free;
        lets_go(part);
        if (goes_behind(reason)) {
            mine(w).turns.yielded();
            behind_.push_back(&t);
        } else if (reason == ready_reason::root && part.is == kind::free) {
            roots_.push_back(&t);
        } else if (may_run(part)) {
            open_.push(&t);
        } else {
            held_.push(&t);
        }
        return at;
    }

    // Always a full look, so a last one is no different.
    decision next(worker_id w, bool) override {
        const serial_order::guard held(lock_);
        worker_part& me = mine(w);
        stops(w);
        task* t = nullptr;
        if (const turn now = me.turns.begin(); now != turn::usual) {
            const bool roots_first = now == turn::odd_fair;
            t = (roots_first ? roots_ : behind_).try_pop_front();
            if (t == nullptr) t = (roots_first ? behind_ : roots_).try_pop_front();
            if (t == nullptr && taken_ == 0) t = held_.pop();
        }
        const bool only_yields = me.turns.sees_only_yields();
        if (t == nullptr && only_yields) t = held_.pop();
        if (t == nullptr) t = open_.pop();
        if (t == nullptr && (taken_ == 0 || (running_ == 0 && behind_.empty()))) t = held_.pop(); // I2
        if (t == nullptr) t = roots_.try_pop_front();
        if (only_yields || (t != nullptr && t->fresh())) me.turns.looked_elsewhere();
        if (t == nullptr) t = behind_.try_pop_front();
        if (t == nullptr) return {};
        takes(*t);
        runs(w, *t);
        return {t, context_->all().size()};
    }

    spawn_order spawn(worker_id w, task& parent, task& child) override {
        const serial_order::guard held(lock_);
        task_part& own = of(parent);
        if (!serial_order::is_placed(parent)) { // it was never offered: a share of a moldable task
            serial_order::place(parent);
            classify(parent, nullptr);
        }
        if (own.is_small) {
            serial_order::take_out(parent); // I4
            of(child) = own;
            of(child).holds = false;
            return spawn_order::lazy;
        }
        serial_order::place_before(child, parent);
        classify(child, &own);
        const bool begins_turn = of(child).is == kind::above || of(child).top == &child;
        if (begins_turn && taken_ > (own.holds ? 1 : 0)) return spawn_order::parent_first; // I1
        takes(child);
        runs(w, child);
        return spawn_order::child_first;
    }

    void started(worker_id w, task& t) override {
        const serial_order::guard held(lock_);
        if (mine(w).runs == nullptr) runs(w, t); // handed to it by the gate
    }
    void resumed(worker_id w, task& t) override {
        const serial_order::guard held(lock_);
        if (of(t).is == kind::above) takes(t);
        if (mine(w).runs == nullptr) runs(w, t);
    }
    void blocked(worker_id w, task& t, ready_reason) override {
        lock_.lock();
        lets_go(of(t));
        stops(w);
        wake_for_held();
    }
    void finished(worker_id w, task& t, const usage&) override {
        lock_.lock();
        task_part& part = of(t);
        lets_go(part);
        if (part.top == &t) closes(t);
        serial_order::take_out(t);
        if (mine(w).runs == &t) stops(w);
        wake_for_held();
    }

private:
    enum class kind : std::uint8_t { free, above, inside };
    struct task_part {
        serial_order::node place;
        task* top; ///< of its L2-supernode, inside of one: itself for the first. It may have ended before
        kind is;
        bool is_small; ///< of an L1-supernode
        bool holds;    ///< of a task above: it runs, and is counted in taken_
    };
    static_assert(sizeof(task_part) <= max_task_bytes);
    struct alignas(queue::k_cache_line_bytes) worker_part {
        task* runs = nullptr; // under the lock
        fair_turns turns;
    };

    static task_part& of(task& t) noexcept { return t.data<task_part>(); }
    worker_part& mine(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }

    // ---- all of these under the lock

    void classify(task& t, const task_part* parent) const noexcept {
        task_part& part = of(t);
        const std::size_t bytes = t.hint().bytes;
        const kind around = parent != nullptr ? parent->is : kind::free;
        part.holds = false;
        part.is_small = bytes > 0 && bytes <= l1_ && bytes <= l2_;
        part.top = nullptr;
        if (around == kind::inside) {
            part.is = kind::inside;
            part.top = parent->top;
        } else if (bytes == 0) {
            part.is = around;
        } else if (bytes > l2_) {
            part.is = kind::above;
        } else {
            part.is = kind::inside;
            part.top = &t;
        }
    }

    bool is_open(const task* top) const noexcept {
        return std::find(open_tops_.begin(), open_tops_.end(), top) != open_tops_.end();
    }
    void closes(const task& top) noexcept { taken_ -= static_cast<int>(std::erase(open_tops_, &top)); }

    bool may_run(const task_part& part) const noexcept {
        return part.is == kind::free || (part.is == kind::inside && is_open(part.top));
    }

    void takes(task& t) noexcept {
        task_part& part = of(t);
        if (part.is == kind::above && !part.holds) {
            part.holds = true;
            ++taken_;
        } else if (part.top == &t && !is_open(&t) && open_tops_.size() < open_tops_.capacity()) {
            open_tops_.push_back(&t); // where there is no room, what is below waits until nothing else runs
            ++taken_;
        }
    }
    void lets_go(task_part& part) noexcept {
        if (!part.holds) return;
        part.holds = false;
        --taken_;
    }

    void runs(worker_id w, task& t) noexcept {
        running_ += mine(w).runs == nullptr ? 1 : 0;
        mine(w).runs = &t;
    }
    void stops(worker_id w) noexcept {
        running_ -= mine(w).runs != nullptr ? 1 : 0;
        mine(w).runs = nullptr;
    }

    /// Gives the lock back.
    void wake_for_held() {
        const bool some_may_go = !held_.empty() && (taken_ == 0 || running_ == 0);
        lock_.unlock();
        if (some_may_go) context_->wake(context_->active()); // I3
    }

    std::size_t l1_, l2_;
    policy_context* context_ = nullptr;
    std::unique_ptr<worker_part[]> mine_;
    queue::spin_lock<> lock_; // of all that follows, and of the order
    queue::pairing_heap<task, serial_order::earlier> open_, held_;
    queue::locked_list<task> roots_; // free ones that have not begun
    queue::locked_list<task> behind_;
    std::vector<const task*> open_tops_; // of open L2-supernodes; hooks do not allocate
    int taken_ = 0;                      // open L2-supernodes, and tasks above that run (I1)
    int running_ = 0;                    // workers that run a task
};

} // namespace

extern constinit const policy_entry cpdf_entry{
    .name = "cpdf",
    .summary = "subtrees that fit the shared cache one after another, inside of them those that fit a core's "
               "in parallel",
    .source = "Blelloch et al.: controlled PDF, SODA 2008; Chen & Guo 2017, 3.2.5",
    .wants = "bytes of all tasks",
    .helps =
        "one socket whose cores share a cache, and programs that divide and conquer more data than it holds",
    .knobs = cpdf_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<controlled_depth_first>(static_cast<std::size_t>(values.integer("l1")),
                                                        static_cast<std::size_t>(values.integer("l2")));
    },
};

} // namespace weft::policies
