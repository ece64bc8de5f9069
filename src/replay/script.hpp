#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// A recorded program that can be run again: docs/replay.md.
namespace weft::replay {

using row = std::uint32_t; ///< a task: index into script::tasks
inline constexpr row no_row = 0xffff'ffff;

enum class act : std::uint8_t {
    compute,   ///< a: nanoseconds on the worker that was recorded
    cost,      ///< a: cycles, how: kind of work
    touch,     ///< a: first byte, b: bytes, how: access
    transfer,  ///< a: bytes, n: name of the disk
    home,      ///< a: first byte, b: bytes, n: memory node, or trace::all_nodes
    iteration, ///< a: number of the iteration
    spawn,     ///< n: task, a: its group
    wait,      ///< n: group
    fork,      ///< n: task that is the second closure of a join; the first closure ends at `join`
    join,      ///< n: the same
    async,     ///< n: task that is a root
    start,     ///< n: run of a graph
    finish,    ///< n: the same; waits for it
    add,       ///< n: task, to the graph that is running, a: its run
    release,   ///< n: signal
    await,     ///< n: signal that another task or thread gives; it comes once
    sleep,     ///< a: nanoseconds
    yield,
};

/// What a task does, in order.
struct action {
    std::uint64_t a = 0, b = 0;
    std::uint32_t n = 0;
    act what = act::yield;
    std::uint8_t how = 0;
};

/// As weft::hints.
struct hint {
    double work = 0;
    std::uint64_t bytes = 0;
    std::uint64_t data_begin = 0, data_bytes = 0;
    std::uint32_t name = 0;
    std::int32_t children = 0;
    std::int8_t priority = 0;
};

struct task {
    hint hints{};
    std::uint32_t first = 0, last = 0; ///< its actions: a half-open range
};

// What tasks of graphs declare.
struct use {
    row of;
    std::uint64_t first, bytes;
    std::uint32_t datum;
    std::uint8_t mode;
};
struct need {
    row of;
    std::int64_t amount;
    std::uint32_t name;
    bool is_cores;
    std::uint8_t how, within;
};
struct edge {
    row of, after;
};
struct share {
    row of, task; ///< in the order of their ranks, from 1
};

/// The entries of task `t` in a table that is sorted by `of`.
template <class T>
std::span<const T> of_task(const std::vector<T>& table, row t) {
    const auto first =
        std::lower_bound(table.begin(), table.end(), t, [](const T& e, row r) { return e.of < r; });
    const auto last = std::find_if(first, table.end(), [t](const T& e) { return e.of != t; });
    return {first, last};
}

/// Roots that ran at the same time. A graph that a plain thread ran is a root as well.
struct batch {
    struct root {
        bool is_graph;
        std::uint32_t number; ///< task, or run of a graph
        std::int64_t at;      ///< nanoseconds since the first root of the batch
    };
    std::vector<root> roots{};
    std::int64_t began = 0, ended = 0; ///< nanoseconds, as recorded
};

struct script {
    std::vector<task> tasks{};
    std::vector<action> actions{};
    std::vector<hint> groups{};
    std::vector<std::vector<row>> graphs{}; ///< by run: the tasks that it begins with
    std::vector<use> uses{};
    std::vector<need> needs{};
    std::vector<edge> edges{};
    std::vector<share> shares{};
    std::uint32_t signals = 0;
    std::vector<batch> batches{};
    std::vector<std::string> names{}; ///< by number; 0: no name
    std::uint64_t lost = 0;           ///< events that found no room in the trace
};

} // namespace weft::replay
