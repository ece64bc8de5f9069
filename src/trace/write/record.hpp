#pragma once

#include <cstdint>

/// What a trace says, as it stands in the file: docs/trace-format.md. Who adds a kind adds it there, to
/// `kind_names` and to the readers, and makes it a new version if old readers would go wrong.
namespace weft::trace {

enum class kind : std::uint8_t {
    none,
    spawn,   ///< a: the new task, b: its group or graph, n: name of its class, what: origin
    hint,    ///< of the spawn before: a: work (a double), b: bytes, n: children, what: priority (-128 to 127)
    data,    ///< of the spawn before: a: first byte, b: bytes, what: mode, n: datum
    need,    ///< of the spawn before: a: amount, n: name of the resource; cores: b: how, what: within
    edge,    ///< task a comes before task b
    graph,   ///< a run of a graph begins: a: its first task, b: how many; the others have the next numbers
    begin,   ///< the worker begins task a; what: start
    end,     ///< and ends it; what: outcome
    suspend, ///< task a stops on this worker, with those that it runs on top of; b: what for, what: why
    resume,  ///< and goes on, on this one
    ready,   ///< the policy has put task a at place n; b: who may run it: first << 32 | end; what: why
    expose,  ///< the rest of the program at task a was offered; n: to which worker, or nobody; b: how far
    returned, ///< task a was taken back by who had exposed it
    steal, ///< what was found (task a; 0: something that will be one) lay at worker n; b: distance (a double)
    search, ///< the worker looks for work
    found,  ///< and has it
    sleep,  ///< the worker sleeps
    wake,
    wait,      ///< the running task waits for group b; 0: for the second closure n of a join
    waited,    ///< all of it has ended
    refused,   ///< the gate keeps task a
    granted,   ///< and lets it go
    given,     ///< what task a had at the gate is free
    touch,     ///< a: first byte, b: bytes, what: access
    cost,      ///< a: cycles, what: kind of work
    iteration, ///< outer iteration a begins
    activity,  ///< modelled: since time a the worker did `what`, for task b
    lost,      ///< a events before this one found no room
    group,     ///< what the hints behind it say is of group a; n: its name
    transfer,  ///< a: bytes from or to the disk of name n
    home,      ///< a: first byte, b: bytes, n: memory node where they lie; nobody: on all by turns
};

/// Where a task comes from.
enum class origin : std::uint8_t { root, child, fork, graph, share, runtime };
/// How a worker came to begin a task.
enum class start : std::uint8_t {
    fresh, ///< by the policy
    below, ///< on top of its parent, which goes on when it has ended
    inside ///< where a plain call would have run it: what runs on top of it is that of its parent
};
enum class outcome : std::uint8_t { done, threw, cancelled };

/// One event. Numbers of tasks are unique in a trace until they have been used up, after 2^32 - 1 of them; 0
/// is no task. Little-endian in the file.
struct record {
    std::uint64_t at = 0; ///< ticks of the recorder's clock; nanoseconds from the beginning in a file
    std::uint64_t a = 0, b = 0;
    std::uint32_t n = 0;
    kind what_kind = kind::none;
    std::uint8_t what = 0;
    std::uint16_t stream = 0; ///< worker; `outside` for everybody else
};
static_assert(sizeof(record) == 32);

inline constexpr std::uint16_t outside = 0xffff;
inline constexpr std::uint8_t whole_interval =
    255; ///< of a kind::data: what a hint says of task and descendants
inline constexpr std::uint32_t nobody = 0xffff'ffff;

inline constexpr const char* kind_names[] = {
    "none",  "spawn",   "hint",      "data",     "need",   "edge",     "graph",    "begin",
    "end",   "suspend", "resume",    "ready",    "expose", "returned", "steal",    "search",
    "found", "sleep",   "wake",      "wait",     "waited", "refused",  "granted",  "given",
    "touch", "cost",    "iteration", "activity", "lost",   "group",    "transfer", "home"};

} // namespace weft::trace
