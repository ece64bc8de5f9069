#include "replay/play.hpp"

#include "calibrate/model_machine.hpp"
#include "replay/player.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>

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

} // namespace

played play(const script& s, bool is_virtual, runtime_options o) {
    o.engine = "model";
    o.costs = "declared";
    if (const char* const set = std::getenv("WEFT_MACHINE"); o.machine.empty() && set != nullptr)
        o.machine = set;
    const machine m = model_machine(o.machine);
    runtime rt(o);
    played out{.machine = m.name(), .workers = rt.workers()};
    player with(s, cycles_per_nanosecond(m, is_virtual));
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
    return out;
}

} // namespace weft::replay
