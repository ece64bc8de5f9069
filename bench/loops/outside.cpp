// Calls from a plain thread, many in a row: run() of nothing, a parallel_for over 10,000 trivial elements, and a group of
// 1,000 empty children. Meanwhile no worker has anything else to do.
//   workers=2 calls=2000
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

template <class F>
double median_us(int calls, F&& f) {
    std::vector<double> us;
    for (int k = 0; k < calls; ++k) us.push_back(bench::time_ns(f) * 1e-3);
    std::nth_element(us.begin(), us.begin() + calls / 2, us.end());
    return us[static_cast<std::size_t>(calls / 2)];
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const int workers = given.number("workers", 2);
        const int calls = given.number("calls", 2000);
        setenv("WEFT_WORKERS", std::to_string(workers).c_str(), 1); // before the default runtime is made
        const auto measure = [&] {
            std::vector<int> data(10'000);
            const auto loop = [&] {
                weft::parallel_for(0, 10'000, [&](int i) { ++data[static_cast<std::size_t>(i)]; });
            };
            const auto group = [] {
                weft::task_group g;
                for (int i = 0; i < 1000; ++i) g.run([] {});
                g.wait();
            };
            weft::runtime& rt = weft::runtime::default_runtime();
            for (int k = 0; k < 100; ++k) loop();
            s.add("run", median_us(calls, [&] { rt.run([] {}); }));
            s.add("loop", median_us(calls, loop));
            s.add("group", median_us(calls / 10, group));
            s.check(std::all_of(data.begin(), data.end(), [&](int d) { return d == calls + 100; }));
        };
        if (workers == 1)
            measure();
        else
            s.with_both_cores(measure);
    });
}
