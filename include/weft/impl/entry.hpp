#pragma once

#include <weft/hints.hpp>
#include <weft/impl/announce.hpp>
#include <weft/impl/group.hpp>
#include <weft/impl/hot.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// The functions through which the templates of the public headers enter the runtime.
namespace weft::impl {

/// What a fork finds when its fast path ends.
enum class zone : std::uint8_t {
    silent,   ///< continue as on the fast path (an idle worker was served meanwhile)
    reported, ///< spawns are reported to the policy: use fork_tasks
    outside,  ///< this thread is no worker
};
/// The frame is linked; it is unlinked again unless the answer is `silent`. `h`: of its closure, or null.
[[gnu::cold]] zone slow_push(frame* parent, frame* f, const hints* h) noexcept;

enum class outcome : std::uint8_t { not_run, value, failed };
/// The return from the first closure, also by an exception; the frame is already unlinked. not_run leaves the
/// second closure to the caller; otherwise a thief has run it to its end.
[[gnu::cold]] outcome slow_pop(frame* parent, frame* f) noexcept;

/// Runs both closures of a join as tasks of the reported zone. Returns false if the policy makes this fork
/// silent: then no closure was run, and the caller forks again inside a silent_scope. Rethrows the first
/// exception.
struct body {
    void (*run)(void*);
    void* closure;
};
[[gnu::cold]] bool fork_tasks(body a, const hints& ha, body b, const hints& hb);

/// Makes the forks of the current task silent while the object lives.
class silent_scope {
public:
    silent_scope() noexcept;
    ~silent_scope();
    silent_scope(const silent_scope&) = delete;
    silent_scope& operator=(const silent_scope&) = delete;

private:
    task* of_;
};

/// Runs a child of a group in the silent zone; elsewhere returns false and does nothing. Runs `body(source)`
/// at once on a stack of its own. The body first moves the closure from `*source` to its own stack, then
/// calls child_started(); from then on the caller may continue on another worker. An exception before that is
/// rethrown here, a later one belongs to the group.
bool run_silently(group&, const hints&, void (*body)(void* source), void* source);
void child_started() noexcept;

/// The record of a child of a group in the reported zone, or of a thread that is no worker, with room for the
/// closure at `storage`. The caller moves the closure there, then commits or gives up.
struct child_record {
    task* record;
    void* storage;
};
child_record begin_child(std::size_t bytes, std::size_t align);
void discard_child(child_record) noexcept;
/// `run` calls and destroys the closure, `drop` destroys it only.
void commit_child(group&, child_record, const hints&, void (*run)(void*), void (*drop)(void*) noexcept);

/// Returns when all children are done; rethrows the first exception and makes the group ready for reuse.
void wait_group(group&);
/// The destructor of a group: waits. An exception that no wait rethrew ends the program, unless another
/// exception is already under way.
void end_group(group&) noexcept;

/// The group that the calling task belongs to; null for a root and in a thread that is no worker.
group* group_of_task() noexcept;
void cancel(group&) noexcept;
/// `g` or a group around it was cancelled.
bool is_cancelled(const group* g) noexcept;

/// Counts an exception that was dropped in favour of an earlier one, for the run's statistics.
void count_suppressed() noexcept;

/// How a loop is cut, by the current task's zone and policy.
struct loop_shape {
    bool fixed;  ///< reported zone: the tree depends only on the range, the grain and `workers`
    int pieces;  ///< > 0: the policy requests that many equal tasks
    int workers; ///< of the current runtime
};
loop_shape shape_of_loop() noexcept;
/// A loop has more than PTRDIFF_MAX iterations: throws weft::error.
[[noreturn, gnu::cold]] void refuse_length();

/// See weft::iteration.
void mark_iteration(int k);

/// Number of listeners to declarations: engines that model time, graphs that check accesses. Without any,
/// declarations have no effect. relaxed: a program makes listeners before it declares anything for them.
extern constinit std::atomic<int> listeners;
inline bool has_listeners() noexcept { return listeners.load(std::memory_order_relaxed) != 0; }
/// See weft/declare.hpp. For workers of such an engine; no effect in other threads.
[[gnu::cold]] void declare_cost(std::uint64_t cycles, int kind) noexcept;
[[gnu::cold]] void declare_transfer(std::string_view disk, std::size_t bytes);
[[gnu::cold]] void declare_data(const void* data, std::size_t bytes, int how);
[[gnu::cold]] void declare_home(const void* data, std::size_t bytes, int node);

/// Number of modules of the program that call weft::cost. A module counts itself when it is loaded, before a
/// runtime is made.
extern constinit std::atomic<int> modules_with_costs;
template <class>
struct this_module_has_costs {
    static inline const bool said = (modules_with_costs.fetch_add(1, std::memory_order_relaxed), true);
};

/// For traces and the model: while the object lives, the calling code is the second closure of a join that no
/// thief took.
class inside_mark {
public:
    /// std::uncaught_exceptions() of the calling code, which may be a task that yields: it is not preempted between the address of
    /// the thread's record and the look at it.
    static int exceptions_here() noexcept;

    explicit inside_mark(const frame& f) noexcept
        : is_seen_(has_listeners() && begins(f))
        , number_(is_seen_ ? f.number : 0)
        , exceptions_(is_seen_ ? exceptions_here() : 0) {}
    ~inside_mark() {
        if (is_seen_) ends(number_, exceptions_here() > exceptions_);
    }
    inside_mark(const inside_mark&) = delete;
    inside_mark& operator=(const inside_mark&) = delete;

private:
    static bool begins(const frame&) noexcept;
    static void ends(std::uint32_t number, bool threw) noexcept;

    const bool is_seen_;
    const std::uint32_t number_;
    const int exceptions_;
};

/// Runs `b` as a root of the default runtime, and waits for it. `name`: of the task (hints::name).
void run_in_default(body b, std::string_view name);

/// Calls `enter` with a body that calls `f`, which another worker may run, and waits for it.
template <class F, class Enter>
void run_announced(F& f, Enter&& enter) {
    struct end {
        F& of;
        ~end() { announce_end(of); }
    } const at_end{f};
    enter(body{call_announced<F>, announce_call(f)});
}
template <class F>
void run_as_root(F& f, std::string_view name = {}) {
    run_announced(f, [name](body b) { run_in_default(b, name); });
}

} // namespace weft::impl
