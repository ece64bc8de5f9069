#include "replay/play.hpp"

#include "calibrate/model_machine.hpp"
#include "replay/player.hpp"

#include <weft/impl/deadlock_scope.hpp>
#include <weft/weft.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weft::replay {

namespace {

void run_batch(player& with, const batch& b) {
    if (b.roots.size() == 1) return with.play(b.roots.front());
    std::vector<future<void>> all;
    for (const batch::root& r : b.roots)
        all.push_back(async([&with, r] {
            if (r.at > 0) this_task::sleep_for(std::chrono::nanoseconds(r.at));
            with.play(r);
        }));
    for (auto& f : all) f.wait(); // all, before an exception of one
    for (auto& f : all) f.get();
}

/// A nanosecond that was measured is a nanosecond of the core that runs the model, as where costs are
/// measured.
double cycles_per_nanosecond(const machine& m, bool is_virtual) {
    const auto classes = m.core_classes();
    const core_class& fastest = *std::ranges::max_element(classes, {}, &core_class::speed);
    const double cycles = fastest.frequency_mhz / 1e3 / fastest.speed;
    return is_virtual ? cycles : cycles * m.model().host_speed;
}

/// The first lines of a report about tasks that wait.
std::string in_one_line(const std::string& report) {
    constexpr int most = 5;
    std::istringstream lines(report);
    std::string all, line;
    int count = 0;
    for (; std::getline(lines, line); ++count)
        if (count < most)
            all += (count > 0 ? ", " : "") + line.substr(std::min(line.find_first_not_of(' '), line.size()));
    return count > most ? fmt::format("{}, and {} more", all, count - most) : all;
}

/// Until a run has ended, or its tasks wait for each other for ever.
class watched_end {
public:
    void end(const std::optional<std::string>& report) {
        const std::lock_guard lock(mutex_);
        deadlock_ = report;
        over_ = true;
        ended_.notify_all();
    }
    /// What waits for what; nothing: the run has ended.
    std::optional<std::string> wait() {
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [this] { return over_; });
        return deadlock_;
    }

private:
    std::mutex mutex_; ///< guards the other members
    std::condition_variable ended_;
    bool over_ = false;
    std::optional<std::string> deadlock_{};
};

runtime made(const runtime_options& o, impl::deadlock_scope::handler at_deadlock) {
    const impl::deadlock_scope scope(std::move(at_deadlock));
    return runtime(o);
}

/// A thread of its own calls `run.play()`. If the tasks of a damaged trace wait for each other it waits to the end of the process,
/// since the stacks of tasks that do not end cannot be unwound. What it uses stays, too.
template <class Run>
void play_to_the_end(std::unique_ptr<Run>& of, const char* what) {
    std::thread player([&run = *of] {
        try {
            run.play();
        } catch (...) { run.failure = std::current_exception(); }
        run.ending.end({});
    });
    if (const auto deadlock = of->ending.wait()) {
        player.detach();
        static_cast<void>(of.release()); // the thread uses it
        throw endless_wait(error::compose(what, in_one_line(*deadlock), "tasks whose waits can end"));
    }
    player.join();
    if (of->failure) std::rethrow_exception(of->failure);
}

/// A script that is being played. It is left behind if its tasks wait for each other: see play().
struct run_of_script {
    run_of_script(const script& of, bool is_virtual, const machine& m, const runtime_options& o)
        : s(of)
        , rt(made(o, [this](const std::string& report) { ending.end(report); }))
        , out{.machine = m.name(), .workers = rt.workers()}
        , with(of, cycles_per_nanosecond(m, is_virtual)) {}

    void play() {
        const auto play_batch = [&](const batch& b) {
            rt.run([&] { run_batch(with, b); });
            with.rethrow();
            const double seconds = rt.stats().seconds;
            const double recorded = static_cast<double>(b.ended - b.began) * 1e-9;
            out.batches.push_back({seconds, recorded, rt.report(report_format::json)});
            out.seconds += seconds;
            out.recorded_seconds += recorded;
        };
        try {
            for (const batch& b : s.batches) play_batch(b);
        } catch (...) {
            rt.run([&] { with.clean_up(); });
            throw;
        }
        rt.run([&] { with.clean_up(); });
        with.rethrow();
    }

    watched_end ending{};
    const script& s;
    runtime rt;
    played out;
    player with;
    std::exception_ptr failure{};
};

/// Once more, from the first batch to the last one, in a task.
void play_beside(const script& s, double cycles_per_ns, int program) {
    player with(s, cycles_per_ns, program);
    for (const batch& b : s.batches) run_batch(with, b);
    with.clean_up();
    with.rethrow();
}

/// Scripts that are being played beside each other.
struct run_of_scripts {
    run_of_scripts(const std::vector<beside>& of, const machine& m, runtime_options o,
                   const together_options& with)
        : how(with) {
        const impl::deadlock_scope scope([this](const std::string& report) { ending.end(report); });
        for (std::size_t i = 0; i < of.size(); ++i) {
            o.policy = of[i].policy;
            on.push_back(std::make_unique<runtime>(o));
            o.beside = on.front().get();
            o.machine.clear();
            programs.push_back(
                {on.back().get(), [s = of[i].what, i, ns = cycles_per_nanosecond(m, of[i].is_virtual)] {
                     play_beside(*s, ns, static_cast<int>(i));
                 }});
        }
    }
    void play() { out = run_together(programs, how); }

    watched_end ending{};
    together_options how;
    std::vector<std::unique_ptr<runtime>> on;
    std::vector<together_program> programs;
    together_stats out;
    std::exception_ptr failure{};
};

machine model_for(runtime_options& o) {
    o.engine = "model";
    o.costs = "declared";
    if (const char* const set = std::getenv("WEFT_MACHINE"); o.machine.empty() && set != nullptr)
        o.machine = set;
    return model_machine(o.machine);
}

} // namespace

together_stats play_together(const std::vector<beside>& all, runtime_options o, const together_options& how) {
    const machine m = model_for(o);
    auto of = std::make_unique<run_of_scripts>(all, m, std::move(o), how);
    play_to_the_end(of, "a trace is damaged: its tasks wait for each other for ever");
    return std::move(of->out);
}

played play(const script& s, bool is_virtual, runtime_options o) {
    const machine m = model_for(o);
    auto of = std::make_unique<run_of_script>(s, is_virtual, m, o);
    play_to_the_end(of, "the trace is damaged: its tasks wait for each other for ever");
    return std::move(of->out);
}

} // namespace weft::replay
