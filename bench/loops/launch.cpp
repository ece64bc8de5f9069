// From the call of a parallel_for over 10,000 trivial elements to its return, many in a row, inside one run.
//   workers=1 elements=10000 loops=300
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <algorithm>
#include <vector>

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const int workers = given.number("workers", 1);
        const int elements = given.number("elements", 10'000);
        const int loops = given.number("loops", 300);
        const auto measure = [&] {
            std::vector<int> data(static_cast<std::size_t>(elements));
            const auto body = [&](int i) { ++data[static_cast<std::size_t>(i)]; };
            std::vector<double> us;
            weft::runtime rt(bench::with_workers(workers));
            rt.run([&] {
                for (int k = 0; k < loops; ++k)
                    us.push_back(bench::time_ns([&] { weft::parallel_for(0, elements, body); }) * 1e-3);
            });
            s.check(std::all_of(data.begin(), data.end(), [&](int d) { return d == loops; }));
            std::nth_element(us.begin(), us.begin() + loops / 2, us.end());
            s.add("us", us[static_cast<std::size_t>(loops / 2)]);
        };
        if (workers == 1)
            measure();
        else
            s.with_both_cores(measure);
    });
}
