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

/// A script that is being played. It is left behind if its tasks wait for each other: see play().
struct run_of_script {
    run_of_script(const script& of, bool is_virtual, const machine& m, const runtime_options& o)
        : s(of)
        , rt(made(o, [this](const std::string& report) { end(report); }))
        , out{.machine = m.name(), .workers = rt.workers()}
        , with(of, cycles_per_nanosecond(m, is_virtual)) {}

    static runtime made(const runtime_options& o, impl::deadlock_scope::handler at_deadlock) {
        const impl::deadlock_scope scope(std::move(at_deadlock));
        return runtime(o);
    }

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

    void end(const std::optional<std::string>& report) {
        const std::lock_guard lock(ending);
        deadlock = report;
        over = true;
        ended.notify_all();
    }
    void wait() {
        std::unique_lock lock(ending);
        ended.wait(lock, [this] { return over; });
    }

    const script& s;
    runtime rt;
    played out;
    player with;
    std::exception_ptr failure{};
    std::mutex ending; ///< guards the members below
    std::condition_variable ended;
    bool over = false;
    std::optional<std::string> deadlock{};
};

/// Once more, from the first batch to the last one, in a task.
void play_beside(const script& s, double cycles_per_ns, int program) {
    player with(s, cycles_per_ns, program);
    for (const batch& b : s.batches) run_batch(with, b);
    with.clean_up();
    with.rethrow();
}

} // namespace

together_stats play_together(const std::vector<beside>& all, runtime_options o, const together_options& how) {
    o.engine = "model";
    o.costs = "declared";
    if (const char* const set = std::getenv("WEFT_MACHINE"); o.machine.empty() && set != nullptr)
        o.machine = set;
    const machine m = model_machine(o.machine);
    std::vector<std::unique_ptr<runtime>> on;
    std::vector<together_program> programs;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const beside& b = all[i];
        o.policy = b.policy;
        on.push_back(std::make_unique<runtime>(o));
        o.beside = on.front().get();
        o.machine.clear();
        programs.push_back({on.back().get(), [&b, i, ns = cycles_per_nanosecond(m, b.is_virtual)] {
                                play_beside(*b.what, ns, static_cast<int>(i));
                            }});
    }
    return run_together(programs, how);
}

/// A thread of its own plays the script: it waits to the end of the process if the tasks of a damaged trace wait for each
/// other, since the stacks of tasks that do not end cannot be unwound. What it uses stays, too.
played play(const script& s, bool is_virtual, runtime_options o) {
    o.engine = "model";
    o.costs = "declared";
    if (const char* const set = std::getenv("WEFT_MACHINE"); o.machine.empty() && set != nullptr)
        o.machine = set;
    const machine m = model_machine(o.machine);
    auto of = std::make_unique<run_of_script>(s, is_virtual, m, o);
    std::thread player([&run = *of] {
        try {
            run.play();
        } catch (...) { run.failure = std::current_exception(); }
        run.end({});
    });
    of->wait();
    if (of->deadlock) {
        player.detach();
        const std::string waiting = in_one_line(*of->deadlock);
        static_cast<void>(of.release()); // the thread uses it
        throw endless_wait(error::compose("the trace is damaged: its tasks wait for each other for ever",
                                          waiting, "tasks whose waits can end"));
    }
    player.join();
    if (of->failure) std::rethrow_exception(of->failure);
    return std::move(of->out);
}

} // namespace weft::replay
