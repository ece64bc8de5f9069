#pragma once

#include "engine/worker/message.hpp"
#include "engine/worker/ranks.hpp"
#include "gate/core_pool.hpp"
#include "machine/machine.hpp"
#include "policy/seam/policy.hpp"
#include "queue/injector.hpp"
#include "queue/spin_lock.hpp"
#include "queue/worker_set.hpp"
#include "task/task.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::impl {
struct worker;
}

namespace weft::engine {

using impl::worker;
struct engine;
class task_watch;

/// Workers that share an instance of the policy: all workers of an engine (the outermost arena), or the
/// members of a team. They steal from each other, wake each other, and know each other by local ranks, which
/// are in the order of the engine's ranks. Other workers reach their tasks by the inbox only.
///
/// An arena is made for a set of members of the arena around it and is used by every team of these members.
/// It lives as long as the engine, so a thread may read an arena at any time after it has found it.
/// `incarnation` tells the teams of an arena apart.
///
///   word              | writer                          | order
///   calls             | see below                       | set before the sleepers are looked for: seq_cst
///   open_             | any worker that starts or ends  | acq_rel: what has ended comes before the end of
///                     | something in the team           | the team
///   requests          | members, under `requests_lock`  |
struct arena final : core_pool, policy_context {
    arena(weft::engine::engine&, unsigned number, std::size_t size);
    ~arena();

    bool is_team() const noexcept { return number != 0; }
    int size() const noexcept { return static_cast<int>(members.size()); }
    void add_member(worker&, const machine&);
    /// Gives the arena its instance of the policy. From then on the arena can be used.
    void attach(std::unique_ptr<policy>, const machine&);
    /// The policy has been attached, and needs that: puts a task_watch in front of it if it asks for snapshots.
    void watch_if_needed(const requirements&);

    /// Counts one more thing that keeps the team together. The caller runs in a task of the team, so the
    /// count is above 0.
    void retain() noexcept { open_.fetch_add(1, std::memory_order_relaxed); } // the caller's task is counted
    /// Takes back a retain() for something that did not come about. The caller's own task is still counted.
    void cancel_retain() noexcept { open_.fetch_sub(1, std::memory_order_relaxed); } // as above
    /// Counts down. True if the count came to 0: the team has ended, and the caller, a member, dissolves it
    /// (release_team()).
    bool release() noexcept {
        return static_cast<std::uint32_t>(open_.fetch_sub(1, std::memory_order_acq_rel)) == 1;
    }
    /// retain() from any thread: false if the team of this incarnation has ended.
    bool try_retain(std::uint32_t incarnation) noexcept;
    std::uint32_t incarnation() const noexcept {
        return static_cast<std::uint32_t>(open_.load(std::memory_order_relaxed) >> 32);
    }
    /// Begins the next incarnation, with a count of `references`.
    void start_team(std::uint32_t references) noexcept;

    /// Members are called: a request was published, or the team has ended.
    bool has_calls() const noexcept { return calls.load(std::memory_order_relaxed) != 0; }
    static constexpr std::uint32_t team_ended = 1u << 31;

    // core_pool
    int idle_in(int of_cell) const noexcept override;
    // policy_context
    workers all() const override { return {0, size()}; }
    workers active() const override {
        return {0, active_count.load(std::memory_order_relaxed)}; // a snapshot in any case
    }
    int core_of(worker_id w) const override;
    time_ns now() const override;
    std::uint32_t random(worker_id, std::uint32_t below) override;
    void wake(workers) override;
    void post(worker_id from, worker_id to, int kind, task* t) override { send(*this, from, to, kind, t); }
    snapshot running(worker_id) const override;
    bool exchange(worker_id, worker_id) override;

    weft::engine::engine& engine;
    const unsigned number;          ///< 0: the outermost
    policy* scheduler = nullptr;    ///< with a watch in front of it, if it asks for snapshots
    std::vector<worker*> members{}; ///< by local rank
    queue::worker_set<> searching;  ///< local ranks: awake and looking; these will find what is announced
    queue::worker_set<> parked;     ///< local ranks: asleep, or about to sleep after one last look
    std::atomic<int> active_count;
    queue::injector<task> inbox{}; ///< tasks from threads that are no members

    std::atomic<std::uint32_t> calls{0}; ///< requests published, and team_ended (T3)
    mutable queue::spin_lock<> requests_lock;
    core_request* requests = nullptr; ///< oldest first

    // Of a team.
    arena* outer = nullptr;
    std::vector<worker_id> outer_rank{}; ///< the members' ranks in `outer`
    std::vector<int> borrowed{};         ///< tokens that a team of these members has, by cell of `outer`
    task* leader = nullptr; ///< of an isolated region: the task that the worker goes on with when it leaves

private:
    std::unique_ptr<policy> own_{};
    std::unique_ptr<task_watch> watch_; ///< null: the policy asks for no snapshots
    std::unique_ptr<machine> on_{};
    std::vector<int>
        core_of_{}; ///< of a team, whose members change no cores; empty: their ranks are the machine's
    std::atomic<std::uint64_t> open_{0}; ///< incarnation << 32 | count of what has begun and not ended
};

} // namespace weft::engine
