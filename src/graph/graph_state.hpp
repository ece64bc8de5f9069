#pragma once

#include "graph/data_versions.hpp"
#include "graph/stable_array.hpp"
#include "queue/spin_lock.hpp"

#include <weft/graph.hpp>
#include <weft/task_group.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace weft {

struct impl::graph_extras {
    std::string_view name{};
    int priority = 0;
    std::vector<data_clause> accesses{};
};

/// A graph, and its present run.
struct graph::state {
    explicit state(const graph_options& o) : options(o) {}

    // graph_state.cpp
    /// `t` waits for `u`, unless it does already. Under the lock.
    void link(std::uint32_t u, std::uint32_t t);
    /// The last node is taken back, with whatever was linked to it. Under the lock.
    void give_up(impl::graph_node&) noexcept;
    void forget_source(std::uint32_t t) noexcept;
    void refuse_while_running(const char* what) const;
    std::vector<std::uint32_t> successors(std::uint32_t t) const;
    /// Tasks on a way from one to another, both included; empty if there is none.
    std::vector<std::uint32_t> path(std::uint32_t from, std::uint32_t to) const;

    // run.cpp: on workers
    /// Runs the sources [first, last) and all that becomes ready by them.
    void run_sources(std::uint32_t first, std::uint32_t last);
    /// Runs a ready task and all that becomes ready by it, and waits for that.
    void run_from(std::uint32_t t);

    /// Ready tasks, linked by next_ready.
    struct ready_list {
        std::uint32_t first = none;
        std::uint32_t count = 0;
    };
    static constexpr std::uint32_t none = UINT32_MAX;
    static constexpr std::uint32_t most_tasks = UINT32_MAX - 1024;

    void run_list(ready_list);
    void execute(impl::graph_node&) noexcept;
    ready_list finish(impl::graph_node&) noexcept;
    void sort(ready_list&) noexcept;
    std::uint32_t take(ready_list&) noexcept;
    void put_aside(ready_list) noexcept;
    std::uint32_t take_aside() noexcept;

    struct edge {
        std::uint32_t to = 0;
        std::uint32_t next = 0; ///< 0: none
    };

    const graph_options options;

    queue::spin_lock<> adding; ///< guards all that changes when a task is added
    stable_array<impl::graph_node> nodes;
    stable_array<edge> edges; ///< the first one is nobody's
    data_versions versions;
    stable_array<std::uint32_t> sources; ///< tasks that wait for none
    bool committed = true;               ///< the addition under way
    bool has_backward_edges = false;     ///< the order of adding is no topological order
    bool running = false;
    std::uint32_t run = 0;           ///< number of the present or last run
    std::uint32_t first_sources = 0; ///< sources when it began

    std::optional<task_group> live;            ///< of the present run
    std::atomic<int> adders{0};                ///< between leaving the lock and having handed in a ready task
    queue::spin_lock<> asiding;                ///< guards `aside`
    ready_list aside;                          ///< ready tasks for which a stack had no room
    std::atomic<std::uint32_t> aside_count{0}; ///< a hint
    std::atomic<bool> failed{false};
    std::exception_ptr first_error; ///< of who has set `failed`
};

} // namespace weft
