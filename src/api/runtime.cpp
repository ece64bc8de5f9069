#include <weft/runtime.hpp>

#include "api/model_engine_of.hpp"
#include "api/options.hpp"
#include "engine/model/model_engine.hpp"
#include "engine/model/simulation.hpp"
#include "engine/observe/tally.hpp"
#include "engine/ports/team_host.hpp"
#include "engine/run/default_engine.hpp"
#include "engine/run/roots.hpp"
#include "engine/threads/thread_engine.hpp"
#include "policy/seam/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include <dlfcn.h>
#include <sys/auxv.h>

namespace weft {

namespace {

/// Tells tools that Weft was linked into a file, also if it was linked statically and the file was stripped: a note of the
/// name "Weft" (System V ABI, section "Note Section"), padded to words. Read by python/weft/openmp.py.
struct note_of_weft {
    std::uint32_t name_bytes = sizeof("Weft"), content_bytes = sizeof(std::uint32_t), type = 1;
    char name[8] = "Weft";
    std::uint32_t content = 1; ///< version of the note
};
[[gnu::used, gnu::section(".note.weft"), gnu::aligned(4)]] constexpr note_of_weft in_this_file{};

std::unique_ptr<engine::engine> make_engine(api::settings&& s) {
    const policy_maker another = resolve_policy(s.policy);
    auto p = another();
    if (s.model)
        return std::make_unique<engine::model_engine>(std::move(p), std::move(s.machine), *s.model,
                                                      std::move(s.resources), another);
    return std::make_unique<engine::thread_engine>(std::move(p), std::move(s.machine), s.threads,
                                                   std::move(s.resources), another);
}

void require_resizable(const engine::engine& e, const std::string& policy, const std::string& given) {
    if (!e.need.resizable)
        throw error("all workers of this policy are always active", given + " under the policy " + policy,
                    "a policy whose number of active workers may change, such as packing or steal");
}

} // namespace

struct runtime::state {
    std::string policy;
    std::unique_ptr<engine::engine> eng;
    std::mutex counting; ///< guards the next three members: overlapping runs share one stretch of statistics
    engine::tally before{};
    engine::tally after{};
    engine::measured_run run{};
    std::atomic<int> open_runs{0};  ///< changed under `counting`
    runtime* before_fork = nullptr; ///< the default runtime of the parent process, kept reachable
    state* left_before = nullptr;   ///< next in the list of runtimes that were left behind

    explicit state(api::settings&& s) : policy(s.policy) {
        const std::string active_given = s.active_given;
        const int active = s.active;
        eng = make_engine(std::move(s));
        if (!active_given.empty()) require_resizable(*eng, policy, active_given);
        if (active > 0) eng->teams.set_active(active);
    }
};

namespace {

/// A program on the machine of another one.
api::settings resolved_beside(const runtime_options& options) {
    const engine::model_engine* const other = api::model_engine_of(*options.beside);
    if (!other)
        throw error("only programs on a modelled machine run beside each other",
                    "runtime_options::beside is a runtime with threads", "a runtime with WEFT_ENGINE=model");
    for (const auto& [given, name] :
         {std::pair(options.machine, "machine"), std::pair(options.scenario, "scenario")})
        if (!given.empty())
            throw error("a program beside another one has the machine and the scenario of that one",
                        fmt::format("runtime_options::{} = {}", name, given),
                        "none, with runtime_options::beside");
    runtime_options o = options;
    o.engine = "model";
    api::settings s = api::resolve(o, &other->sim->machine);
    s.model->beside = other->sim;
    s.machine = other->sim->machine;
    return s;
}

api::settings resolved(const runtime_options& options) {
    const std::lock_guard guard(engine::machine_lock());
    return options.beside ? resolved_beside(options) : api::resolve(options);
}

} // namespace

runtime::runtime(const runtime_options& options) : state_(std::make_unique<state>(resolved(options))) {}

runtime::~runtime() {
    state& s = *state_;
    // Threads that a fork() did not copy, or that are busy (exit() inside a task), cannot be waited
    // for. acquire: pairs with the decrement at the end of a run
    if (s.eng->lifetime.belongs_to_this_process() && s.open_runs.load(std::memory_order_acquire) == 0) return;
    // Never read again; reachable, so that leak checkers do not report it.
    static constinit std::atomic<state*> left_behind{nullptr};
    s.left_before = left_behind.load(std::memory_order_relaxed);
    while (!left_behind.compare_exchange_weak(s.left_before, &s, std::memory_order_relaxed)) {}
    static_cast<void>(state_.release());
}

void runtime::run_body(impl::body b, const hints& h) {
    state& s = *state_;
    if (!s.eng->lifetime.belongs_to_this_process())
        throw error("this runtime has no threads in this process", "run() in a child of fork()",
                    "a runtime made after the fork, or exec");
    {
        const impl::tick_hold here;
        const std::lock_guard guard(s.counting);
        if (s.open_runs.fetch_add(1, std::memory_order_relaxed) == 0) {
            s.eng->lifetime.wait_until_quiescent();
            s.run.began = s.eng->host.now();
            s.before.take(*s.eng, s.run.began);
        }
    }
    struct end {
        state& s;
        ~end() {
            const impl::tick_hold here;
            const std::lock_guard guard(s.counting);
            s.run.ended = s.eng->host.now();
            if (const auto own = s.eng->observation.last_measured_run()) s.run = *own;
            s.after.take(*s.eng, s.run.ended);
            s.open_runs.fetch_sub(1, std::memory_order_release); // pairs with the load in ~runtime()
        }
    } const at_end{s};
    engine::run_root(*s.eng, b, h);
}

int runtime::workers() const noexcept { return state_->eng->worker_count(); }
int runtime::active_workers() const noexcept { return state_->eng->outermost.active().size(); }
void runtime::set_active_workers(int count) {
    engine::engine& e = *state_->eng;
    const std::string given = fmt::format("set_active_workers({})", count);
    if (count < 1 || count > workers())
        throw error("the number of active workers is out of range", given,
                    fmt::format("1 to {}, the number of workers", workers()));
    require_resizable(e, policy(), given);
    const impl::tick_hold here; // of the lock of the change
    e.teams.set_active(count);
}
const std::string& runtime::policy() const noexcept { return state_->policy; }

run_stats runtime::stats() const {
    const state& s = *state_;
    const auto all = s.after.since(s.before).total();
    run_stats r;
    r.policy = s.policy;
    r.workers = workers();
    r.seconds = static_cast<double>(s.run.ended - s.run.began) * 1e-9;
    r.tasks = all.tasks;
    r.steals = all.steals;
    r.exposures = all.exposures;
    r.suppressed_exceptions = all.suppressed;
    r.stack_bytes = usable_stack_bytes(s.eng->fibers.stack_bytes());
    if (s.eng->lifetime.belongs_to_this_process()) r.stack_high_water = s.eng->fibers.stack_high_water();
    const double total = r.seconds * r.workers;
    r.idle_seconds = std::min(total, static_cast<double>(all.idle) * 1e-9);
    r.busy_seconds = total - r.idle_seconds;
    if (s.run.work) r.work_seconds = static_cast<double>(*s.run.work) * 1e-9;
    return r;
}

std::string runtime::report(report_format how) const {
    const state& s = *state_;
    return s.eng->observation.describe_run(s.after.since(s.before), how == report_format::json);
}

std::string run_stats::to_json() const {
    auto known = [](const std::optional<double>& v) {
        return v ? fmt::format("{}", *v) : std::string("null");
    };
    return fmt::format(
        R"({{"policy": "{}", "workers": {}, "seconds": {}, "tasks": {}, "steals": {}, "exposures": {}, )"
        R"("suppressed_exceptions": {}, "busy_seconds": {}, "idle_seconds": {}, "stack_high_water": {}, )"
        R"("stack_bytes": {}, "work_seconds": {}}})",
        policy, workers, seconds, tasks, steals, exposures, suppressed_exceptions, busy_seconds, idle_seconds,
        stack_high_water, stack_bytes, known(work_seconds));
}

engine::model_engine* api::model_engine_of(runtime& of) noexcept {
    return dynamic_cast<engine::model_engine*>(of.internals().eng.get());
}

// ---- the default runtime

namespace {

// None of it has a destructor, because threads may use the default runtime until the very end of the process.
constinit std::atomic<runtime*> the_default{nullptr};
constinit std::atomic<bool> exit_began{false};
constinit bool unloading = false;

bool is_usable(runtime* r) noexcept { return r && r->internals().eng->lifetime.belongs_to_this_process(); }

/// True if this code is part of the program itself, which is never unloaded.
bool is_in_the_program() noexcept {
    Dl_info self{}, program{};
    const auto headers = reinterpret_cast<void*>(getauxval(AT_PHDR));
    return !dladdr(reinterpret_cast<void*>(&is_in_the_program), &self) || !dladdr(headers, &program) ||
           self.dli_fbase == program.dli_fbase;
}

// Functions registered with atexit() run before the functions below when the process ends, and between them
// when dlclose() closes the library.
[[gnu::destructor]] void begin_unloading() noexcept {
    unloading = !exit_began.load(std::memory_order_relaxed); // same thread, or never
}

[[gnu::destructor(101)]] void unload() noexcept {
    runtime* const r = the_default.load(std::memory_order_acquire); // pairs with the store at its making
    if (!is_usable(r)) return;
    if (unloading) {
        the_default.store(nullptr, std::memory_order_relaxed);
        delete r;
    } else if (!is_in_the_program()) {
        // Other threads may still use it, so it stays. But a static object of the program may be closing this
        // library at this moment.
        r->internals().eng->lifetime.end_threads_at_exit();
    }
}

} // namespace

runtime& runtime::default_runtime() {
    runtime* r = the_default.load(std::memory_order_acquire); // pairs with the store below
    if (is_usable(r)) [[likely]]
        return *r;
    const std::lock_guard guard(engine::default_lock());
    r = the_default.load(std::memory_order_relaxed); // written under the lock
    if (is_usable(r)) return *r;
    auto made = std::make_unique<runtime>();
    made->state_->before_fork = r;
    if (!r) std::atexit([] { exit_began.store(true, std::memory_order_relaxed); });
    the_default.store(made.get(), std::memory_order_release); // pairs with the loads outside of the lock
    return *made.release();
}

namespace engine {
engine& default_engine() {
    try {
        return *runtime::default_runtime().internals().eng;
    } catch (const error& e) {
        // The program has not asked for a runtime, so it cannot be expected to handle what is wrong with the settings.
        std::fprintf(stderr, "weft: %s\n", e.what());
        std::exit(2);
    }
}
} // namespace engine

} // namespace weft
