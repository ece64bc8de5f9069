#include "engine/observe/recording.hpp"

#include "engine/observe/profile_file.hpp"
#include "engine/observe/progress_file.hpp"
#include "engine/observe/report_file.hpp"
#include "engine/ports/lifetime.hpp"
#include "engine/ports/meter.hpp"
#include "engine/ports/observation.hpp"
#include "engine/process/process.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/skip_watch.hpp"
#include "machine/describe.hpp"
#include "trace/write/recorder.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <fstream>
#include <mutex>
#include <utility>
#include <vector>

#include <unistd.h>

namespace weft::engine {

namespace {

std::vector<std::string> command_line() {
    std::ifstream file("/proc/self/cmdline");
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    return words;
}

double wall_clock_seconds() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

} // namespace

recording::recording(engine& of) noexcept : engine_(of) {}
recording::~recording() = default;

void recording::begin(const record_options& o, const std::atomic<std::int64_t>* virtual_time) {
    options_ = o;
    is_virtual_ = virtual_time != nullptr;
    if (o.asks_for_nothing() && !engine_.runs) return; // a policy that follows runs keeps what it has found
    {
        const std::lock_guard guard(process_lock());
        for (std::string* file : {&options_.trace, &options_.profile, &options_.report, &options_.progress})
            *file = unique_file_name(std::move(*file));
    }
    if (!options_.report.empty()) reports_ = std::make_unique<report_file>(options_.report);
    if (!options_.progress.empty())
        progress_ = std::make_unique<progress_file>(options_.progress, engine_, is_virtual_);
    if (!options_.trace.empty()) begin_trace(virtual_time);
    if (!options_.profile.empty()) begin_profile(virtual_time);
    finishes_.enter(
        [](void* self) noexcept {
            auto& files = *static_cast<recording*>(self);
            if (files.engine_.lifetime.belongs_to_this_process()) files.finish();
        },
        this);
}

std::string recording::header(bool for_trace) const {
    nlohmann::ordered_json all = {
        {"weft", WEFT_VERSION},
        {"engine", options_.engine_name},
        {"policy", options_.policy_spec},
        {"seed", options_.seed},
        {"workers", engine_.worker_count()},
        {"machine", {{"name", engine_.machine.name()}, {"description", describe(engine_.machine)}}},
        {"command", command_line()},
        {"process", getpid()},
        {"began", wall_clock_seconds()},
        {"time", is_virtual_ ? "virtual" : "real"}};
    if (for_trace) {
        std::vector<int> cores;
        for (int w = 0; w < engine_.worker_count(); ++w) cores.push_back(engine_.worker_at(w).core());
        all["cores"] = cores;
        all["misses_from"] = name_of(engine_.meter.misses_from);
        all["instructions_from"] = name_of(engine_.meter.instructions_from);
        all["resources"] = options_.resources;
    }
    return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void recording::begin_trace(const std::atomic<std::int64_t>* virtual_time) {
    tracer_ =
        std::make_unique<trace::recorder>(options_.trace, header(true), engine_.worker_count(), virtual_time);
    give_logs(*tracer_);
}

void recording::begin_profile(const std::atomic<std::int64_t>* virtual_time) {
    profile_ = std::make_unique<profile_file>(options_.profile, header(false), virtual_time);
    if (!virtual_time) skips_ = std::make_unique<skip_watch>();
    give_logs(profile_->events());
}

void recording::give_logs(trace::recorder& of) noexcept {
    engine_.tracer = &of;
    for (worker* w : engine_.outermost.members) {
        w->log = &of.of(w->id);
        w->skipped.watch = skips_.get();
        w->slow = true;
    }
}

void recording::workers_began() noexcept {
    if (progress_) progress_->begin();
}

void recording::finish() noexcept {
    if (tracer_) tracer_->finish();
    if (profile_) profile_->finish();
    if (engine_.runs) engine_.outermost.scheduler->keep(); // the report says what came of it
    if (reports_) reports_->write(engine_.observation.describe_all_runs(reports_->wants_json()));
    if (progress_) progress_->finish();
}

} // namespace weft::engine
