#pragma once

#include <weft/concepts.hpp>
#include <weft/context.hpp>
#include <weft/error.hpp>
#include <weft/hints.hpp>
#include <weft/impl/entry.hpp>
#include <weft/impl/installed_data.hpp>
#include <weft/impl/join_frame.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace weft {

class runtime;

/// An option that is not given (an empty text) is taken from the environment variable in brackets; if that is
/// not set, it has its default. A value that cannot be honoured, here or in the environment, is a weft::error
/// that says what is allowed.
struct runtime_options {
    /// [WEFT_WORKERS] 1 to 1024; default: one for each core that this process may use
    std::optional<int> workers{};
    /// [WEFT_ACTIVE] all, cores, or a number from 1: how many of the workers are active at first. cores: as many as cores that
    /// this process may use, checked once a second, until the program calls set_active_workers(). A policy that does not
    /// support fewer is an error. Default: if the number of workers was not chosen, cores where the policy supports it; else all
    std::string active{};
    /// [WEFT_POLICY] name[:key=value,...], see docs/policies.md; or module.so:name[:...] for a policy of a shared
    /// object, see docs/adding-a-policy.md; default steal
    std::string policy{};
    std::string engine{}; ///< [WEFT_ENGINE] threads, model; default threads
    /// [WEFT_MACHINE] a machine's name (see docs/modelled-machines.md, also for WEFT_MACHINES), a path to a TOML or
    /// XML file, an hwloc synthetic string, or this; default: this, the machine that the process runs on
    std::string machine{};
    std::optional<std::uint64_t> seed{}; ///< [WEFT_SEED] of every random choice; default 1
    std::optional<std::size_t>
        stack_bytes{}; ///< [WEFT_STACK] of each task's stack, bytes or 64K, 8M, 1G; default 8M
    /// [WEFT_WAITING] how many children of groups may wait in the queues of the policy; while about as many wait, the
    /// next ones are called at once by the tasks that spawn them, if the policy supports that; default 1000000
    std::optional<std::size_t> waiting{};
    /// [WEFT_PIN] compact, scatter: each worker is pinned to a core; off. Default, if every core has one worker: each is
    /// pinned while it has no work, so that threads that a task starts may run on all cores; else off
    std::string pin{};
    /// [WEFT_SPEEDS] one speed for each worker, as 1,1,0.32,0.32, or machine: those of WEFT_MACHINE. Unequal cores where there are
    /// none: policies see cores of these speeds, the greatest at most 1, and on real threads a worker gets that share of its
    /// core, docs/unequal-cores.md. Default: the cores as they are
    std::string speeds{};
    /// [WEFT_SPIN] microseconds, or forever: how long an idle worker looks for work before it sleeps; 0: it
    /// sleeps at once; max(): it never sleeps. A larger value starts new work sooner and occupies a core
    /// meanwhile; default 100
    std::optional<std::chrono::microseconds> spin{};
    /// [WEFT_PREEMPT] off, yield, klt, with [:interval=1ms,timer=aligned,groups=1,park=futex_local]: whether tasks without a
    /// type of their own (hints::preempt) are preempted, and how, see docs/preemption.md; default off
    std::string preempt{};
    /// [WEFT_RESOURCES] TOML file of the resources that tasks of graphs may need, see docs/resources.md;
    /// default: none
    std::string resources{};
    /// [WEFT_TRACE] file for all events, see docs/trace-format.md; a second runtime of the process with the
    /// same file writes to name.2.suffix, and so on; default: none
    std::string trace{};
    /// [WEFT_PROFILE] file for the work and the span of the program by construct, which a runtime with one worker measures, see
    /// docs/profile.md; without a number of workers, there is one; a second runtime writes to name.2.suffix, as above;
    /// default: none
    std::string profile{};
    /// [WEFT_REPORT] file for a report of each run (JSON if *.json), or - for standard error, see
    /// docs/reports.md; a second runtime writes to name.2.suffix, as above; default: none
    std::string report{};
    /// [WEFT_PROGRESS] file with the current counts of the workers, see docs/progress-format.md; a second
    /// runtime writes to name.2.suffix, as above; default: none
    std::string progress{};
    /// [WEFT_SHARE] path:slot, in the table of the programs on this machine: the runtime publishes there what its workers have
    /// done, uses as many of them as the table wishes, and does not pin them unless `pin` says so; `weft cosched` sets it, see
    /// docs/cosched.md. A second runtime, and a child process, publish nothing; default: none
    std::string share{};
    /// [WEFT_LEND] off, or on[:directory=/PATH,reach=domain,tick=1ms]: whether the runtime lends the cores of its workers that
    /// sleep to other programs of this user, and borrows theirs when it has more work than workers, see docs/share.md. It then
    /// has one more worker, a guest, for each core that it may borrow: those that share the last-level cache with its own cores
    /// (reach=machine: all). workers() counts the guests; set_active_workers() leaves them out. Without effect on modelled machines
    /// and for a second runtime of the process; default off
    std::string lend{};

    // Only for the engine `model`, see docs/modelled-machines.md.
    std::string scenario{}; ///< [WEFT_SCENARIO] TOML file of changes of the machine over time; default: none
    std::string
        costs{}; ///< [WEFT_COSTS] declared, measured; default: declared if the program calls weft::cost
    /// A runtime on a modelled machine: this one is another program on the same machine, see run_together() in
    /// weft/programs.hpp. The machine ends with the last runtime on it. Default: a machine of its own
    runtime* beside = nullptr;
};

/// Figures of the last run() that has ended, summed over the workers of the runtime.
struct run_stats {
    std::string policy;       ///< as given
    int workers = 0;          ///< number of workers of the runtime
    double seconds = 0;       ///< from the call of run() to its return; virtual if time is modelled
    std::uint64_t tasks = 0;  ///< tasks that the scheduler started; a fork that no thief took is not a task
    std::uint64_t steals = 0; ///< tasks and frames that a worker got from another worker
    std::uint64_t exposures = 0; ///< hidden entries that were exposed, including those that were reclaimed
    std::uint64_t suppressed_exceptions = 0; ///< thrown in a group that already had an exception
    double busy_seconds = 0;                 ///< seconds x workers - idle_seconds
    double idle_seconds = 0;                 ///< looking for work or asleep
    std::size_t stack_high_water =
        0;                       ///< most bytes of its stack that a task has used since the runtime was made
    std::size_t stack_bytes = 0; ///< size of each stack, bytes: the limit of stack_high_water
    std::optional<double> work_seconds{}; ///< total work T1, if the engine measures it

    /// One JSON object whose keys are the names of the members; an unknown value is null.
    std::string to_json() const;
};

/// Form of runtime::report(): tables for people, or one JSON object.
enum class report_format : std::uint8_t { table, json };

/// A set of workers under one scheduling policy. Several runtimes may exist at the same time. The destructor
/// waits for no run: all runs must have ended. docs/processes.md says what happens at exit(), fork() and
/// dlclose().
class runtime {
public:
    /// Starts the workers. Throws weft::error for an option or an environment variable that cannot be
    /// honoured.
    explicit runtime(const runtime_options& options = {});
    ~runtime();
    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;

    /// Runs `f()` or `f(context)` on a worker, waits, and returns its result (a reference is returned as a
    /// value) or rethrows its exception. Any thread may call run(), several at the same time. On a worker of
    /// this runtime it is a plain call. On a worker of another runtime the calling task is suspended
    /// meanwhile.
    ///
    /// A thread that is no worker takes the place of a worker that sleeps, if there is one, and works as that
    /// worker until `f` has ended: usually it runs `f` itself. It may run tasks of other callers meanwhile, so it
    /// must not hold a lock for which they wait.
    ///
    /// `h`: hints of the task that runs `f`, such as its name in traces; unused where it is a plain call.
    template <Closure F>
    std::conditional_t<std::is_void_v<impl::raw_result<F>>, void, impl::result<F>> run(F&& f,
                                                                                       const hints& h = {}) {
        if constexpr (std::is_void_v<impl::raw_result<F>>) {
            auto root = [&] { static_cast<void>(impl::call_closure<true>(f, impl::hot_head())); };
            impl::run_announced(root, [&](impl::body b) { run_body(b, h); });
        } else {
            std::optional<impl::result<F>> r;
            auto root = [&] { r.emplace(impl::call_closure<true>(f, impl::hot_head())); };
            impl::run_announced(root, [&](impl::body b) { run_body(b, h); });
            return std::move(*r);
        }
    }
    /// @cond
    impl::not_a::Closure run(impl::any, const hints& = {}) WEFT_REJECTED(
        "Closure: f is called without arguments or with a context, and returns void or a movable value");
    /// @endcond

    int workers() const noexcept; ///< number of workers
    /// From now on the workers of the `count` lowest ranks run tasks. A worker that becomes inactive stops when its task
    /// is preempted, or ends; the other workers run what lies at its places. One that becomes active again is woken. From
    /// any thread, at any time; on a modelled machine a thread that is no worker waits for the end of the runs that go on. Throws
    /// weft::error if the count is not 1 to workers(), or if the policy does not support it.
    void set_active_workers(int count);
    int active_workers() const noexcept;        ///< number of workers that are active
    const std::string& policy() const noexcept; ///< as given
    run_stats stats() const;                    ///< must not be called during a run
    /// A report of the last run: what the workers did and, on a modelled machine, what its caches and memory
    /// did. docs/reports.md describes the keys of the JSON object. Empty before the first run. Must not be
    /// called during a run.
    std::string report(report_format = report_format::table) const;

    /// The runtime that joins, groups and loops use in threads that are no workers. It is made from the
    /// environment at its first use, and lives until the process exits. If the environment cannot be honoured,
    /// this function throws weft::error; a join, group or loop says what is wrong and ends the program with status
    /// 2.
    static runtime& default_runtime();

    struct state;
    state& internals() noexcept { return *state_; } ///< for the library itself

private:
    void run_body(impl::body, const hints&);
    std::unique_ptr<state> state_;
};

} // namespace weft
