#include "policy/parts/places.hpp"
#include "policy/parts/sharing_order.hpp"
#include "policy/parts/sharing_profile.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/pairing_heap.hpp"
#include "queue/spin_lock.hpp"

#include "machine/domains.hpp"
#include "machine/machine.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// Tasks in the order of a profile: those that share data run one after the other.
///
///   R. M. Yoo, C. J. Hughes, C. Kim, Y.-K. Chen, C. Kozyrakis: Locality-aware task management for
///   unstructured parallelism. SPAA 2013; Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel
///   Architectures. Springer 2017, 4.3.7. The order itself: sharing_order.hpp.
///
/// If the profile does not exist yet, the run writes it: the work of each task, and the cache lines that it
/// says to touch. Later runs know their tasks by their ids. A socket works on one group of the largest cache
/// at a time, and each of its workers on one group of the next smaller cache. A worker that finds nothing
/// there begins another group; if all are begun, it helps where tasks are left. Nothing is held back: no
/// worker waits for tasks of a group that are still to come.
///
/// Tasks that the profile does not know, roots, and tasks that have begun are stolen at random, parent-first.
///
/// O1. A task of the profile that has not begun is in the heap of its inner group, and any worker may take
///     it.
/// O2. The current group of a socket or a worker is a hint only: a last look goes through all groups.
namespace weft::policies {
namespace {

constexpr knob offline_knobs[] = {
    {"profile", "none", "text", "a file: written if it does not exist, else followed; none: neither"},
};

class offline_order final : public policy {
public:
    explicit offline_order(std::string file) : file_(std::move(file)) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        const int count = context.all().size();
        members_ = std::make_unique<member[]>(static_cast<std::size_t>(count));
        const domains sockets(m, domain_kind::last_level_cache);
        sockets_count_ = static_cast<std::size_t>(sockets.count());
        sockets_ = std::make_unique<queue::cell<int>[]>(sockets_count_);
        for (std::size_t d = 0; d < sockets_count_; ++d) sockets_[d].store_relaxed(-1);
        for (worker_id w = 0; w < count; ++w) of(w).socket = sockets.of(context.core_of(w));
        if (file_ != "none") {
            if (const auto tasks = read_profile(file_))
                follow(*tasks, m);
            else
                recorder_ = std::make_unique<profile_recorder>(file_);
        }
        return {.task_bytes = sizeof(task_part),
                .own_usage = recorder_ != nullptr,
                .demotable = true,
                .resizable = true,
                .uses = true};
    }

    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        const bool may_be_known = reason == ready_reason::spawned || reason == ready_reason::released;
        const known* const k = may_be_known ? find(t.id()) : nullptr;
        if (k == nullptr) return places_.put(w, t, reason);
        t.data<task_part>().turn = k->turn;
        group& g = groups_[static_cast<std::size_t>(k->inner)];
        g.lock.lock();
        g.tasks.push(&t); // O1 of offline.cpp
        g.count.store_relaxed(static_cast<int>(g.tasks.size()));
        g.lock.unlock();
        return {group_place(k->inner), context_->active()};
    }

    decision next(worker_id w, bool last_look) override {
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        member& m = of(w);
        if (task* const t = next_of_profile(m)) return {t, group_place(m.inner)};
        return places_.look_outside(w, last_look, false); // O2
    }

    void finished(worker_id, task& t, const usage& used) override {
        if (recorder_ && t.id() != 0 && !used.cancelled && (t.parent_group() != nullptr || t.graph() != 0))
            recorder_->keep(t, used);
    }

private:
    struct task_part { // of the policy's bytes
        std::int32_t turn;
    };
    struct goes_first {
        bool operator()(task& a, task& b) const noexcept {
            return a.data<task_part>().turn < b.data<task_part>().turn;
        }
    };
    struct known {
        std::uint64_t id;
        int turn, inner;
    };
    struct alignas(queue::k_cache_line_bytes) group { // an inner one
        queue::spin_lock<> lock;                      // of the tasks
        queue::pairing_heap<task, goes_first> tasks;  // O1
        queue::cell<int> count; // of the tasks; written under the lock, a hint outside of it
        int outer = 0;          // fixed
    };
    struct alignas(queue::k_cache_line_bytes) member { // only its worker touches it
        int socket = 0;
        int inner = -1;
    };
    member& of(worker_id w) noexcept { return members_[static_cast<std::size_t>(w)]; }
    place_id group_place(int inner) const noexcept { return places_.root_place() + 1 + inner; }
    int count() const noexcept { return static_cast<int>(groups_count_); }

    // ---- following a profile

    void follow(const std::vector<profiled_task>& tasks, const machine& m) {
        std::vector<std::uint64_t> caches; // of rank 0, the largest first
        for (const int c : m.caches_of(0))
            caches.push_back(static_cast<std::uint64_t>(m.caches()[static_cast<std::size_t>(c)].bytes) /
                             profile_line_bytes);
        std::ranges::sort(caches, std::greater<>());
        if (caches.empty()) caches = {(std::uint64_t{8} << 20) / profile_line_bytes};
        const auto ordered = order_by_sharing(tasks, caches);
        int turn = 0, inner = -1;
        for (const ordered_task& o : ordered) {
            known_.push_back({tasks[o.task].id, turn++, o.inner});
            inner = std::max(inner, o.inner);
        }
        groups_count_ = static_cast<std::size_t>(inner + 1);
        groups_ = std::make_unique<group[]>(groups_count_);
        for (const ordered_task& o : ordered) groups_[static_cast<std::size_t>(o.inner)].outer = o.outer;
        std::ranges::sort(known_, {}, &known::id);
    }

    const known* find(std::uint64_t id) const noexcept {
        const auto at = std::ranges::lower_bound(known_, id, {}, &known::id);
        return at != known_.end() && at->id == id ? &*at : nullptr;
    }

    task* pop(int inner) noexcept {
        group& g = groups_[static_cast<std::size_t>(inner)];
        if (g.count.load_relaxed() == 0) return nullptr;
        g.lock.lock();
        task* const t = g.tasks.pop();
        g.count.store_relaxed(static_cast<int>(g.tasks.size()));
        g.lock.unlock();
        return t;
    }

    /// Leaves the group that it comes from in `m.inner`.
    task* next_of_profile(member& m) noexcept {
        if (count() == 0) return nullptr;
        if (m.inner >= 0)
            if (task* const t = pop(m.inner)) return t;
        queue::cell<int>& at = sockets_[static_cast<std::size_t>(m.socket)];
        const auto take = [&](auto&& wanted) -> task* {
            for (int g = 0; g < count(); ++g) {
                if (!wanted(groups_[static_cast<std::size_t>(g)].outer)) continue;
                if (task* const t = pop(g)) {
                    m.inner = g;
                    at.store_relaxed(groups_[static_cast<std::size_t>(g)].outer);
                    return t;
                }
            }
            return nullptr;
        };
        const int mine = at.load_relaxed();
        if (task* const t = take([&](int outer) { return outer == mine; })) return t;
        if (task* const t = take([&](int outer) { return !is_begun(outer); })) return t;
        return take([](int) { return true; }); // O2 of offline.cpp
    }

    bool is_begun(int outer) const noexcept { // by a socket that still works on it
        for (std::size_t d = 0; d < sockets_count_; ++d)
            if (sockets_[d].load_relaxed() == outer) return true;
        return false;
    }

    const std::string file_;
    policy_context* context_ = nullptr;
    places places_;
    std::unique_ptr<member[]> members_;
    std::unique_ptr<queue::cell<int>[]> sockets_; // the outer group that each works on; -1: none
    std::size_t sockets_count_ = 0;
    std::vector<known> known_; // by id; fixed after attach()
    std::unique_ptr<group[]> groups_;
    std::size_t groups_count_ = 0;
    std::unique_ptr<profile_recorder> recorder_; // null: nothing is recorded
};

} // namespace

extern constinit const policy_entry offline_entry{
    .name = "offline",
    .summary = "tasks that shared data in an earlier run, one after the other",
    .source = "Yoo et al., SPAA 2013; Chen & Guo 2017, 4.3.7",
    .wants = "a profile of an earlier run; data intervals of tasks, or accesses of graph tasks",
    .helps = "many independent tasks that share data without structure, and programs that run again",
    .knobs = offline_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<offline_order>(std::string(values.text("profile")));
    },
};

} // namespace weft::policies
