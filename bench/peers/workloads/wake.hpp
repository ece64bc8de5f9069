// From a fork until both sides of it run, when the other workers have had nothing to do for 20 ms. Neither
// side polls or calls the runtime; if one is not started beside the other, that gives up after 50 ms.
#pragma once

#include "needs.hpp"

#include "../../common/sample.hpp"
#include "../../common/timing.hpp"

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace peers {

struct wake {
    static constexpr std::string_view name = "wake", needs = "forks";

    template <class Runtime>
        requires forks<typename Runtime::strand>
    static void measure(Runtime& rt, bench::sample& s) {
        using strand = typename Runtime::strand;
        constexpr int times = 12;
        constexpr std::int64_t patience_ns = 50'000'000;
        std::vector<double> us;
        rt.run([&](strand here) {
            for (int k = 0; k < times; ++k) {
                bench::sleep_ms(20);
                std::atomic<int> started = 0;
                std::atomic<std::int64_t> both = 0;
                const auto began = bench::now_ns();
                const auto side = [&](strand) {
                    if (started.fetch_add(1) == 1) {
                        both = bench::now_ns();
                        return;
                    }
                    while (started < 2 && bench::now_ns() - began < patience_ns) {}
                };
                here.fork(side, side);
                us.push_back(static_cast<double>(both - began) * 1e-3);
            }
        });
        us.erase(us.begin()); // the first wakes threads that may never have run
        s.add("us", us);
    }
};

} // namespace peers
