#pragma once

#include "engine/worker/ranks.hpp"
#include "policy/seam/policy.hpp"
#include "queue/cache_line.hpp"
#include "queue/spin_lock.hpp"
#include "task/task_class.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace weft::engine {

/// What each worker of an arena runs, for a policy with requirements::snapshots. It stands between the engine and the
/// policy, and notes what the hooks say. An arena whose policy asks for no snapshots has none, and pays nothing.
///
/// A worker comes to a task when next() returns it, when it starts, and when it is resumed; it leaves the task when it is
/// blocked or ends. A child that was called on the stack of its parent ends without a further hook of the parent, so its worker
/// keeps what it noted of the tasks below. It does not ask task::parent(): a task that adds children to the group of
/// another one may end before them.
///
/// The lock of a worker's note is taken in the runtime, and by readers in hooks: its holder is never preempted (Y4).
class task_watch final : public policy {
public:
    /// `of` is attached already.
    task_watch(policy& of, const policy_context& clock)
        : of_(of)
        , clock_(clock)
        , notes_(std::make_unique<note[]>(static_cast<std::size_t>(clock.all().size()))) {}

    snapshot running(worker_id w) const noexcept {
        note& n = at(w);
        const std::lock_guard held(n.lock);
        return n.now;
    }

    requirements attach(const machine& m, policy_context& c) override { return of_.attach(m, c); }
    placement ready(worker_id w, task& t, ready_reason reason) override { return of_.ready(w, t, reason); }
    decision next(worker_id w, bool last_look) override {
        const decision found = of_.next(w, last_look);
        note& n = at(w);
        n.depth = 0;
        n.is_found = found.t != nullptr;
        if (found.t != nullptr)
            comes_to(w, *found.t);
        else if (n.now.busy) // only this worker writes the note
            leaves(w);
        return found;
    }
    elastic_place mold(worker_id w, task& t) override { return of_.mold(w, t); }
    void assemble(worker_id w, std::span<task* const> shares, elastic_place at) override {
        of_.assemble(w, shares, at);
    }
    bool keeps_share(worker_id w) override { return of_.keeps_share(w); }
    workers victims(worker_id w) override { return of_.victims(w); }
    spawn_order spawn(worker_id w, task& parent, task& child) override { return of_.spawn(w, parent, child); }
    bool queues_child(worker_id w) override { return of_.queues_child(w); }
    int pieces(worker_id w, task& loop) override { return of_.pieces(w, loop); }
    void group_begin(worker_id w, task& t, group& g) override { of_.group_begin(w, t, g); }
    after_wait group_wait(worker_id w, task& t, group& g) override { return of_.group_wait(w, t, g); }
    void group_end(worker_id w, task& t, group& g) override { of_.group_end(w, t, g); }
    void started(worker_id w, task& t) override {
        if (!std::exchange(at(w).is_found, false)) calls(at(w));
        comes_to(w, t);
        of_.started(w, t);
    }
    void blocked(worker_id w, task& t, ready_reason reason) override {
        at(w).depth = 0;
        leaves(w);
        of_.blocked(w, t, reason);
    }
    void resumed(worker_id w, task& t) override {
        at(w).is_found = false;
        comes_to(w, t);
        of_.resumed(w, t);
    }
    void finished(worker_id w, task& t, const usage& used) override {
        returns(w);
        of_.finished(w, t, used);
    }
    placement message(worker_id w, worker_id from, int kind, task* t) override {
        return of_.message(w, from, kind, t);
    }
    void iteration(worker_id w, task& t, int k) override { of_.iteration(w, t, k); }
    void graph_grew(worker_id w, const graph_view& g) override { of_.graph_grew(w, g); }
    void lock_waits(worker_id w, task& t, std::uint32_t lock) override { of_.lock_waits(w, t, lock); }
    void lock_taken(worker_id w, task& t, std::uint32_t lock) override { of_.lock_taken(w, t, lock); }
    void lock_released(worker_id w, task& t, std::uint32_t lock) override { of_.lock_released(w, t, lock); }
    void resized(workers active) override { of_.resized(active); }
    bool gives_way(worker_id w, const task& t) override { return of_.gives_way(w, t); }
    void tick(time_ns now) override { of_.tick(now); }
    root_zone run_begins(const task& root, time_ns now) override { return of_.run_begins(root, now); }
    void run_ended(time_ns now) override { of_.run_ended(now); }
    void child_detached(worker_id w) override { of_.child_detached(w); }
    void child_settled(worker_id w) override { of_.child_settled(w); }
    void turned_away(worker_id w) override { of_.turned_away(w); }
    void keep() noexcept override { of_.keep(); }
    policy_choices choices() override { return of_.choices(); }

private:
    static constexpr int most_kept = 8;
    struct alignas(queue::k_cache_line_bytes) note {
        queue::spin_lock<> lock;
        snapshot now{};
        // ---- of the worker itself
        bool is_found = false;                   ///< by next(), and it has not started since
        int depth = 0;                           ///< tasks below the running one that have called a child
        std::array<snapshot, most_kept> below{}; ///< the lowest of them
    };

    note& at(worker_id w) const noexcept { return notes_[rank(w)]; }
    void comes_to(worker_id w, const task& t) {
        put(w, {.busy = true,
                .id = t.id(),
                .name = t.hint().name,
                .priority = t.hint().priority,
                .preempt = t.preempt(),
                .since = clock_.now(),
                .before = t.self_ns_,
                .root = t.root(),
                .of_class = class_of(t)});
    }
    /// The task that the worker runs calls a child.
    void calls(note& n) {
        if (!n.now.busy) return;
        if (n.depth < most_kept) {
            snapshot& kept = n.below[static_cast<std::size_t>(n.depth)];
            kept = n.now;
            kept.before += clock_.now() - kept.since;
        }
        ++n.depth;
    }
    /// A task has ended: the worker runs the one below it. Of those that lie very deep only that is known.
    void returns(worker_id w) {
        note& n = at(w);
        if (n.depth == 0) return leaves(w);
        snapshot below =
            --n.depth < most_kept ? n.below[static_cast<std::size_t>(n.depth)] : snapshot{.busy = true};
        below.since = clock_.now();
        put(w, below);
    }
    void leaves(worker_id w) { put(w, {.since = clock_.now()}); }
    void put(worker_id w, const snapshot& s) {
        note& n = at(w);
        const std::lock_guard held(n.lock);
        n.now = s;
    }

    policy& of_;
    const policy_context& clock_;
    const std::unique_ptr<note[]> notes_;
};

} // namespace weft::engine
