#pragma once

#include "engine/worker/arena.hpp"
#include "engine/worker/block_cache.hpp"
#include "engine/worker/worker.hpp"
#include "gate/gate.hpp"
#include "machine/machine.hpp"
#include "policy/seam/policy.hpp"
#include "queue/spin_lock.hpp"
#include "task/fiber_pool.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace weft::trace {
class recorder;
}

namespace weft::engine {

struct host;
struct meter;
struct team_host;
struct timers;
struct observation;
struct lifetime;
class run_follower;

/// Makes one more instance of an engine's policy.
using policy_factory = std::function<std::unique_ptr<policy>()>;

/// What each engine does in its own way: engine/ports/README.md.
struct engine_ports {
    weft::engine::host& host;
    weft::engine::meter& meter;
    team_host& teams;
    weft::engine::timers& timers;
    weft::engine::observation& observation;
    weft::engine::lifetime& lifetime;
};

struct engine_parts {
    std::unique_ptr<policy> scheduler;
    weft::machine machine;
    resource_table resources{};
    policy_factory make_policy{}; ///< if it is empty, no task can ask for a team of workers
};

/// Of children that wait in the queues of a policy: a few hundred bytes each.
inline constexpr std::size_t default_most_waiting = 1'000'000;

/// What the workers of an engine share, and the ports by which shared code reaches the engine. Code that
/// needs one port includes the header of that port only.
struct engine : engine_ports {
    engine(const engine_ports&, engine_parts, int workers, std::size_t stack_bytes, std::size_t keep_fibers,
           fiber_pool::entry_fn);
    virtual ~engine();
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    /// For roots that begin now, and for tasks of graphs and of isolated regions of those that are open.
    root_zone zone() const noexcept {
        // relaxed: it changes before the root is handed in that it is for
        return {silent_roots_.load(std::memory_order_relaxed),
                shown_graph_tasks_.load(std::memory_order_relaxed), molds_.load(std::memory_order_relaxed)};
    }
    /// Whether the policy of that arena molds what begins now. The instance of a team is told of no runs, and its first answer
    /// is not to be relied on if the policy follows them.
    bool molds(const arena& in) const noexcept { return zone().molds && (!runs || &in == &outermost); }
    void set_zone(root_zone z) noexcept {
        silent_roots_.store(z.lazy, std::memory_order_relaxed); // as above
        shown_graph_tasks_.store(z.graph_tasks, std::memory_order_relaxed);
        molds_.store(z.molds, std::memory_order_relaxed);
    }

    int worker_count() const noexcept { return outermost.size(); }
    worker& worker_at(int rank) const noexcept { return *outermost.members[static_cast<std::size_t>(rank)]; }

    const std::unique_ptr<policy> scheduler; ///< of the outermost arena
    const policy_factory make_policy;
    weft::machine machine;
    arena outermost;
    queue::spin_lock<> team_arenas_lock; ///< guards `team_arenas`
    /// By the kind (engine/team), the number of the arena around, and the engine's ranks and the cores of the members.
    std::map<std::vector<worker_id>, std::unique_ptr<arena>> team_arenas{};
    weft::gate gate;
    requirements need;                    ///< what the policy needs
    std::unique_ptr<run_follower> runs{}; ///< null: the policy does not follow runs
    trace::recorder* tracer = nullptr;    ///< if there is a trace
    fiber_pool fibers;
    const floating_point_modes modes = floating_point_modes::of_this_thread(); ///< with which tasks start
    block_depot blocks;
    preemption preempts =
        preemption::off; ///< of roots without a type of their own; set before the first task
    std::size_t most_waiting =
        default_most_waiting;             ///< children in the queues of the policy; set before the first task
    std::atomic<std::int32_t> roots{0};   ///< submitted so far
    std::atomic<std::uint64_t> graphs{0}; ///< runs so far of graphs whose tasks the policy knows

protected:
    /// Asks the policy what it needs, when all workers are members of the outermost arena, and gives the
    /// workers what follows from it. Throws weft::error for needs that the engine of this name cannot meet.
    void attach_policy();

private:
    std::atomic<bool> silent_roots_{false}, shown_graph_tasks_{false}, molds_{false};
};

} // namespace weft::engine
