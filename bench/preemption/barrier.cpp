// Ten threads a worker that meet at a barrier again and again (examples/barriers): how many intervals each further thread of a
// worker delays a round. Ideally 1, for barriers that keep the worker busy; the control is a weft::barrier.
//   barrier=spin type=klt interval_us=1000 workers=2 threads=10 rounds=50
#include "../../examples/barriers/barriers.hpp"

#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <cstddef>
#include <string>

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const int workers = given.number("workers", 2), threads = given.number("threads", 10);
        const int rounds = given.number("rounds", 50), interval = given.number("interval_us", 1000);
        const std::string type = given.text("type", "klt");
        weft::runtime_options o = bench::with_workers(workers);
        o.preempt =
            type + ":interval=" + std::to_string(interval) + "us,timer=" + given.text("timer", "aligned");
        o.pin = "compact";
        weft::runtime rt(o);
        const auto members = static_cast<std::size_t>(workers * threads);
        examples::repeated_meeting meeting(members, static_cast<std::size_t>(rounds));
        s.with_both_cores([&] {
            const double ns = bench::time_ns([&] {
                rt.run([&] {
                    meeting.run(examples::meetings.at(given.text("barrier", "spin")),
                                type == "yield" ? weft::preemption::yield : weft::preemption::klt);
                });
            });
            s.add("intervals", ns * 1e-3 / interval / (threads - 1) / rounds);
        });
        s.check(meeting.early() == 0);
        s.check(meeting.passed() == members * static_cast<std::size_t>(rounds));
    });
}
