#include <weft/runtime.hpp>

#include "api/options.hpp"
#include "engine/core/default_engine.hpp"
#include "engine/threads/thread_engine.hpp"
#include "policy/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>

namespace weft {

namespace {

struct totals {
    std::uint64_t tasks = 0, steals = 0, exposures = 0, suppressed = 0, idle_ns = 0;
};

totals sum(const engine::thread_engine& e) {
    totals t;
    const auto now = e.now();
    for (const auto& w : e.crew) {
        t.tasks += w->count.tasks.get();
        t.steals += w->count.steals.get();
        t.exposures += w->count.exposures.get();
        t.suppressed += w->count.suppressed.get();
        t.idle_ns += w->count.idle_until(now);
    }
    return t;
}

} // namespace

struct runtime::state {
    std::string policy;
    engine::thread_engine engine;
    totals before{};
    totals after{};
    std::chrono::steady_clock::time_point began{}, ended{};
    std::atomic<int> open_runs{0}; ///< overlapping runs share one stretch of statistics

    explicit state(api::settings&& s)
        : policy(s.policy)
        , engine(make_policy(s.policy), std::move(s.on), s.threads) {}
};

runtime::runtime(const runtime_options& options) : state_(std::make_unique<state>(api::settle(options))) {}

runtime::~runtime() = default;

void runtime::run_body(impl::body b) {
    state& s = *state_;
    if (s.open_runs.fetch_add(1, std::memory_order_acq_rel) ==
        0) { // pairs with the decrement of the run before
        s.before = sum(s.engine);
        s.began = std::chrono::steady_clock::now();
    }
    struct end {
        state& s;
        ~end() {
            s.ended = std::chrono::steady_clock::now();
            s.after = sum(s.engine);
            s.open_runs.fetch_sub(1, std::memory_order_acq_rel); // pairs with the increment of the next run
        }
    } const at_end{s};
    engine::run_root(s.engine, b);
}

int runtime::workers() const noexcept { return state_->engine.worker_count(); }
const std::string& runtime::policy() const noexcept { return state_->policy; }

run_stats runtime::stats() const {
    const state& s = *state_;
    const totals& now = s.after;
    run_stats r;
    r.policy = s.policy;
    r.workers = workers();
    r.seconds = std::chrono::duration<double>(s.ended - s.began).count();
    r.tasks = now.tasks - s.before.tasks;
    r.steals = now.steals - s.before.steals;
    r.exposures = now.exposures - s.before.exposures;
    r.suppressed_exceptions = now.suppressed - s.before.suppressed;
    const double total = r.seconds * r.workers;
    r.idle_seconds = std::min(total, static_cast<double>(now.idle_ns - s.before.idle_ns) * 1e-9);
    r.busy_seconds = total - r.idle_seconds;
    return r;
}

std::string run_stats::to_json() const {
    auto known = [](const std::optional<double>& v) {
        return v ? fmt::format("{}", *v) : std::string("null");
    };
    return fmt::format(
        R"({{"policy": "{}", "workers": {}, "seconds": {}, "tasks": {}, "steals": {}, "exposures": {}, )"
        R"("suppressed_exceptions": {}, "busy_seconds": {}, "idle_seconds": {}, "work_seconds": {}, )"
        R"("span_seconds": {}}})",
        policy, workers, seconds, tasks, steals, exposures, suppressed_exceptions, busy_seconds, idle_seconds,
        known(work_seconds), known(span_seconds));
}

runtime& runtime::default_runtime() {
    static runtime* const forever = new runtime; // threads may use it until the very end of the process
    return *forever;
}

namespace engine {
engine& default_engine() { return runtime::default_runtime().internals().engine; }
} // namespace engine

} // namespace weft
