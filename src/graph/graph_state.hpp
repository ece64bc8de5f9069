#pragma once

#include "engine/worker/runtime_entry.hpp"
#include "gate/claim.hpp"
#include "graph/data_register.hpp"
#include "graph/data_versions.hpp"
#include "graph/levels.hpp"
#include "graph/node_store.hpp"
#include "graph/stable_array.hpp"
#include "queue/spin_lock.hpp"
#include "task/sanitizers.hpp"
#include "trace/write/record.hpp"

#include <weft/condition_variable.hpp>
#include <weft/declare.hpp>
#include <weft/graph.hpp>
#include <weft/mutex.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::engine {
struct arena;
struct engine;
} // namespace weft::engine

namespace weft::trace {
class log;
}

namespace weft {

class gate;

/// The parts of a task that most tasks of a graph do not have.
struct graph_extras {
    hints hint{};
    std::shared_ptr<claim> at_gate{};
    struct need {
        std::string resource;
        std::int64_t amount;
    };
    std::vector<need> needs{};      ///< of resources, as the program says
    std::ptrdiff_t named_parts = 0; ///< the claim's first parts: these, and the resources file's
};

/// A graph, and its present run.
struct graph::state {
    explicit state(const graph_options&);
    ~state();

    const std::uint64_t serial; ///< of the graph in the process, from 1

    // graph_state.cpp
    /// `t` waits for `u`, unless it does already. Under the lock.
    void link(std::uint32_t u, std::uint32_t t);
    /// The datum belongs to this graph. Throws weft::error if it belongs to another one. Under the lock.
    void own(impl::datum_place&) const;
    /// Takes the last node back; what was linked to it stays. Under the lock.
    void give_up(impl::graph_node&) noexcept;
    void forget_source(std::uint32_t t) noexcept;
    void refuse_while_running(const char* what) const;
    void refuse_once(const char* what) const;
    std::vector<std::uint32_t> successors(std::uint32_t t) const;
    /// Tasks on a way from one to another, both included; empty if there is none.
    std::vector<std::uint32_t> path(std::uint32_t from, std::uint32_t to) const;
    std::string named(std::uint32_t t) const;
    void survey(); ///< makes `levels` for the tasks that exist when a run begins, if the policy wants them
    const hints& hint_of(const impl::graph_node& n) const noexcept {
        return n.extras ? extras[n.extras].hint : no_hints;
    }

    // stream.cpp: tasks that run once
    std::uint32_t new_edge(std::uint32_t to, std::uint32_t next);
    void forget(std::uint32_t t) noexcept; ///< the task has run, for the only time
    void throttle();                       ///< waits until fewer tasks are unfinished

    // checker.cpp
    void watch_touches(impl::graph_node&, std::uint32_t t);
    void check_touch(std::uint32_t t, const void* what, std::size_t bytes, access how);
    void report_touches();

    // tracing.cpp: under the lock
    void trace_run();
    void trace_edge(std::uint32_t u, std::uint32_t t); ///< while the graph runs, as the next one
    void trace_added(std::uint32_t t);
    void trace_task(trace::log&, const impl::graph_node&, std::uint32_t t);
    void number_up_to(trace::log&, std::uint32_t t);
    void with_log(const std::function<void(trace::log&)>& use);

    // claims.cpp: what tasks need at the gate
    void need_datum(impl::graph_node&, std::uint32_t datum);
    void need_resource(impl::graph_node&, std::string_view name, std::int64_t amount);
    void need_cores(impl::graph_node&, const impl::cores_clause&);
    /// Finds the resources of a task, and its workers in that arena. Throws weft::error if there is not
    /// enough of them.
    void resolve_claim(std::uint32_t t, engine::arena&, claim* above);
    void resolve_needs(std::uint32_t t, const gate&);
    /// Makes a claim for each task whose name the resources file mentions.
    void claim_by_name(const gate&);
    void claim_by_name(impl::graph_node&, const gate&);
    void resolve_arena(std::uint32_t t, engine::arena&);
    static bool is_for_policy(const claim&) noexcept;
    void resolve_cores(std::uint32_t t, engine::arena&, claim&) const;
    claim& claim_of(graph_extras&) const;
    graph_extras& extras_of(impl::graph_node&);
    bool claims(const impl::graph_node& n) const noexcept { return n.extras && extras[n.extras].at_gate; }

    // run.cpp: on workers
    /// Runs the tasks that are ready when the run begins.
    void run_sources(std::uint32_t first, std::uint32_t last);
    /// Runs a ready task and every task that becomes ready by it, and waits for them.
    void run_from(std::uint32_t t);
    /// The body of a task of the policy that was made for `t`.
    void run_alone(std::uint32_t t);
    /// Makes a task of the policy for `t`, which is ready. From any thread.
    void submit_ready(std::uint32_t t);

    /// Ready tasks, linked by next_ready.
    struct ready_list {
        std::uint32_t first = none;
        std::uint32_t count = 0;
    };
    static constexpr std::uint32_t none = UINT32_MAX;
    static constexpr std::uint32_t most_tasks = UINT32_MAX - 1024;

    void run_list(ready_list);
    void execute(impl::graph_node&, bool is_share = false) noexcept;
    void execute_here(impl::graph_node&, std::uint32_t t) noexcept;
    trace::outcome outcome_of(const impl::graph_node&, bool ran) const noexcept;
    ready_list finish(impl::graph_node&) noexcept;
    void sort(ready_list&) noexcept;
    std::uint32_t take(ready_list&) noexcept;
    void put_aside(ready_list) noexcept;
    std::uint32_t take_aside() noexcept;
    void describe_uses(const impl::graph_node&, task& made);

    struct edge {
        std::uint32_t to = 0;   ///< a task; in a list of accesses a packed access of data_register
        std::uint32_t next = 0; ///< 0: none
    };

    const graph_options options;
    const bool keeps_accesses;

    engine::without_ticks<sanitizer::announced_lock>
        adding; ///< guards everything that changes when a task is added
    node_store nodes{options.once};
    stable_array<edge> edges;          ///< number 0 ends a list
    stable_array<graph_extras> extras; ///< number 0: the node has none
    data_versions versions;
    data_register data;                  ///< if accesses are kept
    std::deque<resource> exclusive_data; ///< of `commutative`
    std::vector<resource*> by_datum;     ///< the exclusive data, by number of the datum
    std::vector<std::uint32_t> claiming; ///< tasks that have claims
    stable_array<std::uint32_t> sources; ///< tasks that wait for none
    bool has_backward_edges = false;     ///< the order of adding is no topological order
    bool running = false;
    std::uint32_t run = 0;           ///< number of the present or last run
    std::uint32_t first_sources = 0; ///< sources when it began

    // Of the present run; written before it begins.
    std::optional<group> live;
    engine::engine* home = nullptr;
    engine::arena* inside = nullptr; ///< the arena that it was started in
    std::uint32_t incarnation = 0;   ///< of the team, if that arena is one
    std::shared_ptr<claim> around;   ///< of the task that has started it, or of the nearest around
    std::int32_t root = 0;
    preemption preempts = preemption::off; ///< of its tasks without a type of their own
    bool reported = false;                 ///< every task of the graph is a task of the policy
    std::optional<graph_levels> levels;    ///< if the policy wants them
    bool traced = false;
    std::uint32_t traced_as = 0;         ///< number of the run
    stable_array<std::uint32_t> numbers; ///< of the tasks in the trace; read by the workers

    // Of graphs that run once.
    std::uint32_t free_edges = 0;           ///< under the lock
    std::vector<std::uint32_t> free_extras; ///< under the lock
    std::atomic<std::int64_t> unfinished{0};
    std::atomic<std::uint64_t> ended{0};
    std::atomic<std::uint64_t> stuck_at{UINT64_MAX}; ///< `ended` when the wait of an adder timed out
    std::atomic<bool> throttled{false};              ///< an adder waits (E6)
    mutex throttling;
    condition_variable fewer;

    engine::without_ticks<queue::spin_lock<>> reporting; ///< guards `undeclared`
    std::map<std::string, std::uint64_t> undeclared;     ///< touches without a declaration, and their number

    std::atomic<int> adders{0}; ///< threads between leaving the lock and having handed in a ready task (E4)
    engine::without_ticks<queue::spin_lock<>> asiding; ///< guards `aside`
    ready_list aside;                                  ///< ready tasks for which a stack had no room
    std::atomic<std::uint32_t> aside_count{0};         ///< a hint
    std::atomic<bool> failed{false};
    std::exception_ptr first_error; ///< written by the thread that has set `failed`
};

} // namespace weft
