// Threads that go through arrays of their own (examples/array_sweeps): by how many per cent tasks that are preempted take
// longer than the same tasks one after the other, in turns.
//   kbytes=1024 sweeps=40 threads=4 interval_us=1000 rounds=15
#include "../../examples/array_sweeps/array_sweeps.hpp"

#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"
#include "paired.hpp"

#include <cstddef>
#include <string>
#include <vector>

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        constexpr int workers = 2;
        weft::runtime_options o = bench::with_workers(workers);
        o.preempt = "off:interval=" + given.text("interval_us", "1000") + "us";
        o.pin = "compact";
        weft::runtime rt(o);
        examples::sweep_settings settings{.threads =
                                              static_cast<std::size_t>(workers * given.number("threads", 4)),
                                          .kbytes = static_cast<std::size_t>(given.number("kbytes", 1024)),
                                          .sweeps = static_cast<std::size_t>(given.number("sweeps", 40)),
                                          .writes = false};
        examples::array_sweeps all(settings, 1);
        const auto with = [&](const char* name, weft::preemption type) {
            return bench::variant{name, [&all, &rt, type] { rt.run([&all, type] { all.run(type); }); }};
        };
        const std::vector<bench::variant> variants = {with("off", weft::preemption::off),
                                                      with("yield", weft::preemption::yield),
                                                      with("klt", weft::preemption::klt)};
        s.with_both_cores([&] {
            bench::add_slowdowns(s, variants, bench::paired_times(variants, given.number("rounds", 15)));
        });
        s.check(all.is_right(1));
    });
}
