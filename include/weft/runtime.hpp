#pragma once

#include <weft/context.hpp>
#include <weft/error.hpp>
#include <weft/impl/entry.hpp>
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

/// What is not given (an empty text) is taken from the environment (the variable in brackets), else it is the
/// default. A value that cannot be honoured, here or there, is a weft::error that says what is allowed.
struct runtime_options {
    /// [WEFT_WORKERS] 1 to 1024; default: the cores this process may use. In that case fewer of them take
    /// part while it may use fewer (cpuset, quota; looked at once a second), if the policy can bear it.
    std::optional<int> workers{};
    std::string policy{};  ///< [WEFT_POLICY] name[:key=value,...], see docs/policies.md; default steal
    std::string engine{};  ///< [WEFT_ENGINE] threads, model; default threads
    std::string machine{}; ///< [WEFT_MACHINE] TOML or XML file, or hwloc synthetic string; default: this one
    std::optional<std::uint64_t> seed{}; ///< [WEFT_SEED] of every random choice; default 1
    std::optional<std::size_t>
        stack_bytes{}; ///< [WEFT_STACK] of each task's stack, bytes or 64K, 8M, 1G; default 1M
    std::string pin{}; ///< [WEFT_PIN] compact, scatter, off; default: compact if every core has one worker
    /// [WEFT_SPIN] microseconds, forever: how long an idle worker looks for work before it sleeps; 0: it
    /// sleeps at once, max(): never. Longer is quicker to start and takes a core meanwhile; default 100
    std::optional<std::chrono::microseconds> spin{};
    /// [WEFT_RESOURCES] TOML file of what tasks of graphs may need, see docs/resources.md; default: nothing
    std::string resources{};
    /// [WEFT_TRACE] file for all that happens, see docs/trace-format.md; a second runtime of the process that
    /// asks for the same one writes to name.2.suffix and so on. Default: none
    std::string trace{};
    /// [WEFT_REPORT] file for reports of all runs (JSON if *.json), - for standard error, see
    /// docs/reports.md; a second runtime writes to name.2.suffix, as above. Default: none
    std::string report{};
    /// [WEFT_PROGRESS] file that tells at any time how far the workers are, see docs/progress-format.md; a
    /// second runtime has name.2.suffix, as above. Default: none
    std::string progress{};

    // Of the engine `model` only, see docs/modelled-machines.md.
    std::string scenario{}; ///< [WEFT_SCENARIO] TOML file of what happens to the machine meanwhile
    std::string
        costs{}; ///< [WEFT_COSTS] declared, measured; default: declared if the program calls weft::cost
};

/// Of the last run() of a runtime that has ended; sums over its workers.
struct run_stats {
    std::string policy;          ///< as given
    int workers = 0;             ///< that the runtime has
    double seconds = 0;          ///< from the call of run() to its return; virtual ones if time is modelled
    std::uint64_t tasks = 0;     ///< tasks that the scheduler started; forks that nobody took are not tasks
    std::uint64_t steals = 0;    ///< tasks and frames that a worker got from another one
    std::uint64_t exposures = 0; ///< hidden entries that were handed out, those taken back included
    std::uint64_t suppressed_exceptions = 0; ///< thrown in a group that had one already
    double busy_seconds = 0;                 ///< seconds x workers - idle_seconds
    double idle_seconds = 0;                 ///< looking for work or asleep
    std::size_t stack_high_water =
        0;                       ///< most bytes of its stack that any task used since the runtime was made
    std::size_t stack_bytes = 0; ///< what a stack has: the limit of that
    std::optional<double> work_seconds{}; ///< T1, where the engine can tell

    /// One JSON object, its keys the names here; what is not known is null.
    std::string to_json() const;
};

/// Of runtime::report(): tables for people, or one JSON object.
enum class report_format : std::uint8_t { table, json };

/// Workers under one scheduling policy. Several may exist at once. Destroying one waits for nothing: its runs
/// must be over. What becomes of it at exit(), fork() and dlclose(): docs/processes.md.
class runtime {
public:
    /// Starts the workers. Throws weft::error for an option, or a variable, that cannot be honoured.
    explicit runtime(const runtime_options& options = {});
    ~runtime();
    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;

    /// Runs `f()` or `f(context)` on a worker and returns its result (a value for a reference) when it has
    /// ended; its exception is rethrown. Any thread may call it, several at once. On a worker of this runtime
    /// it is a plain call; on a worker of another one the calling task is suspended meanwhile.
    template <class F>
    std::conditional_t<std::is_void_v<impl::raw_result<F>>, void, impl::result<F>> run(F&& f) {
        if constexpr (std::is_void_v<impl::raw_result<F>>) {
            auto root = [&] { static_cast<void>(impl::call_closure<true>(f, impl::hot_head())); };
            run_body({[](void* c) { (*static_cast<decltype(root)*>(c))(); }, &root});
        } else {
            std::optional<impl::result<F>> r;
            auto root = [&] { r.emplace(impl::call_closure<true>(f, impl::hot_head())); };
            run_body({[](void* c) { (*static_cast<decltype(root)*>(c))(); }, &root});
            return std::move(*r);
        }
    }

    int workers() const noexcept;               ///< how many it has
    const std::string& policy() const noexcept; ///< as given
    run_stats stats() const;                    ///< not during a run
    /// Of the last run: what its workers did, and on a modelled machine its caches and memory; the keys of
    /// the JSON object are described in docs/reports.md. Empty before the first one. Not during a run.
    std::string report(report_format = report_format::table) const;

    /// The one that join, groups and loops use in threads that belong to none. Made at first use from the
    /// environment, which is where it can throw weft::error; lives until the process exits.
    static runtime& default_runtime();

    struct state;
    state& internals() noexcept { return *state_; } ///< for the library itself

private:
    void run_body(impl::body);
    std::unique_ptr<state> state_;
};

} // namespace weft
