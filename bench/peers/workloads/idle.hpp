// CPU time of the process in half a second without work, from 100 ms after the last run on.
#pragma once

#include "fib.hpp"

#include "../../common/sample.hpp"
#include "../../common/timing.hpp"

#include <string_view>

namespace peers {

struct idle {
    static constexpr std::string_view name = "idle", needs = "forks";

    template <class Runtime>
        requires forks<typename Runtime::strand>
    static void measure(Runtime& rt, bench::sample& s) {
        fib last(27);
        rt.run([&](auto here) { last.run(here); });
        s.check(last.is_right());
        bench::sleep_ms(100);
        const auto cpu = bench::cpu_ns();
        const auto wall = bench::now_ns();
        bench::sleep_ms(500);
        s.add("percent", 100.0 * static_cast<double>(bench::cpu_ns() - cpu) /
                             static_cast<double>(bench::now_ns() - wall));
    }
};

} // namespace peers
