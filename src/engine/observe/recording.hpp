#pragma once

#include "engine/process/at_exit.hpp"
#include "engine/worker/worker.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace weft::trace {
class recorder;
}

namespace weft::engine {

class profile_file;
class progress_file;
class report_file;
class skip_watch;
struct engine;

/// The files to be written about an engine's runs, and what goes into their headers.
struct record_options {
    std::string trace{}, profile{}, report{}, progress{}; ///< names of files; empty: no such file
    std::string engine_name{}, policy_spec{};
    std::uint64_t seed = 0;
    std::string resources{}; ///< the text of the resources file, if there is one

    bool asks_for_nothing() const noexcept {
        return trace.empty() && profile.empty() && report.empty() && progress.empty();
    }
};

/// The files about an engine's runs, and what its policy keeps for later processes (policy::keep). They are finished when the engine ends, or when the process does.
class recording {
public:
    explicit recording(engine& of) noexcept;
    ~recording();
    recording(const recording&) = delete;
    recording& operator=(const recording&) = delete;

    /// Makes the files; from now on they get what happens. Called when the engine has its workers and before
    /// the first of them does anything. `virtual_time`: the engine's clock, if its time is modelled. Throws
    /// weft::error if a file cannot be made.
    void begin(const record_options&, const std::atomic<std::int64_t>* virtual_time = nullptr);
    /// The engine's workers have begun.
    void workers_began() noexcept;
    /// Writes what is still to be written. Called when the workers note nothing more, or when the process
    /// ends; what happens later is not in the trace.
    void finish() noexcept;
    /// Called by the engine's destructor: the end of the process does not finish these files any more.
    void leave_exit_list() noexcept { finishes_.leave(); }

    const record_options& options() const noexcept { return options_; }
    report_file* reports() const noexcept { return reports_.get(); } ///< null if no report is asked for

private:
    std::string header(bool for_trace) const; ///< a JSON object
    void begin_trace(const std::atomic<std::int64_t>* virtual_time);
    void begin_profile(const std::atomic<std::int64_t>* virtual_time);
    void give_logs(trace::recorder&) noexcept;

    engine& engine_;
    record_options options_{};
    std::unique_ptr<trace::recorder> tracer_;
    std::unique_ptr<profile_file> profile_;
    std::unique_ptr<skip_watch> skips_; ///< of the profile, where time is real
    bool is_virtual_ = false;           ///< the engine's time
    std::unique_ptr<report_file> reports_;
    std::unique_ptr<progress_file> progress_;
    at_exit finishes_; ///< the engine's destructor leaves the list before it destroys anything
};

} // namespace weft::engine
