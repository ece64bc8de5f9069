#pragma once

#include <cstdint>

/// What a trace says, as it stands in the file: docs/trace-format.md. A new kind is added there, to `kind_names`
/// and to the readers, and needs a new version of the format if old readers would go wrong.
namespace weft::trace {

enum class kind : std::uint8_t {
    none,
    spawn,   ///< a: the new task, b: its group or graph, n: name or place of its class, what: origin
    hint,    ///< of the spawn before: a: work (a double), b: bytes, n: children, what: priority (-128 to 127)
    data,    ///< of the spawn before: a: first byte, b: bytes, what: mode, n: datum
    need,    ///< of the spawn before: a: amount, n: name of the resource; cores: b: how, what: within
    edge,    ///< task a comes before task b
    graph,   ///< a run of a graph begins: a: its first task, b: number of tasks; they are numbered in a row
    begin,   ///< the worker begins task a; what: start
    end,     ///< the worker ends task a; what: outcome
    suspend, ///< task a stops on this worker, with the tasks that it runs on top of; b: what it waits for,
             ///< what: reason
    resume,  ///< task a continues on this worker
    ready,   ///< the policy has put task a at place n; b: workers that may run it: first << 32 | end;
             ///< what: reason
    expose, ///< the rest of the program at task a was offered; n: to which worker, or `no_worker`; b: how much
    returned,  ///< the worker that exposed task a has taken it back
    steal,     ///< what was found (task a; 0: something that will be a task) lay at worker n; b: distance (a
               ///< double)
    search,    ///< the worker looks for work
    found,     ///< the worker has found work
    sleep,     ///< the worker goes to sleep
    wake,      ///< the worker wakes
    wait,      ///< the running task waits for group b; 0: for the second closure n of a join
    waited,    ///< what it waited for has ended
    refused,   ///< the gate keeps task a
    granted,   ///< the gate lets task a go
    given,     ///< the resources that task a had at the gate are free
    touch,     ///< a: first byte, b: bytes, what: access
    cost,      ///< a: cycles, what: kind of work
    iteration, ///< outer iteration a begins
    activity,  ///< modelled: since time a the worker did `what`, for task b
    lost,      ///< a events before this one found no room
    group,     ///< the hints behind it are those of group a; n: its name
    transfer,  ///< a: bytes from or to the disk of name n
    home,      ///< a: first byte, b: bytes, n: memory node where they lie; `all_nodes`: on all in turn
    exchange, ///< a: two workers have changed cores: one << 32 | the other; b: the cores that they have now, likewise
};

/// Where a task comes from.
enum class origin : std::uint8_t { root, child, fork, graph, share, runtime };
/// How a worker came to begin a task.
enum class start : std::uint8_t {
    fresh, ///< by the policy
    below, ///< on top of its parent, which continues when the task has ended
    inside ///< where a plain call would have run it: what runs on top of it belongs to its parent
};
enum class outcome : std::uint8_t { done, threw, cancelled };

/// Those of the reasons of `suspend` and `ready` that readers act on; the others are in docs/trace-format.md.
inline constexpr std::uint8_t reason_unblocked = 5, reason_yielded = 10;

/// One event. Numbers of tasks are unique in a trace until all 2^32 - 1 of them have been given out; 0 is no
/// task. Little-endian in the file.
struct record {
    std::uint64_t at = 0; ///< ticks of the recorder's clock; in a file: nanoseconds from the beginning
    std::uint64_t a = 0, b = 0;
    std::uint32_t n = 0;
    kind what_kind = kind::none;
    std::uint8_t what = 0;
    std::uint16_t stream = 0; ///< worker; `outside` for threads that are not workers
};
static_assert(sizeof(record) == 32);

inline constexpr std::uint16_t outside = 0xffff;
/// As `what` of a kind::data: the data of a hint, of the task and its descendants.
inline constexpr std::uint8_t whole_interval = 255;
/// In place of a worker or a memory node.
inline constexpr std::uint32_t no_worker = 0xffff'ffff, all_nodes = 0xffff'ffff;

inline constexpr const char* kind_names[] = {
    "none",     "spawn",  "hint",   "data",     "need",     "edge",    "graph",  "begin", "end",
    "suspend",  "resume", "ready",  "expose",   "returned", "steal",   "search", "found", "sleep",
    "wake",     "wait",   "waited", "refused",  "granted",  "given",   "touch",  "cost",  "iteration",
    "activity", "lost",   "group",  "transfer", "home",     "exchange"};

} // namespace weft::trace
