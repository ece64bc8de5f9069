// What others do on this machine meanwhile: other programs, and other guests of the host (steal time).
#pragma once

#include "timing.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

namespace bench {

/// CPU time of all processes but this one and the children it has waited for, since it was made, as a share
/// of one core.
class neighbours {
public:
    double share() const {
        const double wall = static_cast<double>(now_ns() - wall_);
        const double others = (busy_ns() - busy_) - static_cast<double>(own_ns() - own_);
        return std::max(0.0, others / wall);
    }

    /// One look of 50 ms; the kernel counts in ticks of 10 ms, so one of them is no noise yet.
    static bool are_quiet() {
        const neighbours others;
        sleep_ms(50);
        return others.share() < 0.3;
    }

private:
    static double busy_ns() {
        std::ifstream stat("/proc/stat");
        std::string word;
        stat >> word;
        double busy = 0;
        for (int field = 0; field < 8; ++field) { // user nice system idle iowait irq softirq steal
            double ticks = 0;
            stat >> ticks;
            if (field != 3 && field != 4) busy += ticks;
        }
        return busy * 1e9 / static_cast<double>(sysconf(_SC_CLK_TCK));
    }

    static std::int64_t own_ns() noexcept {
        rusage children{};
        getrusage(RUSAGE_CHILDREN, &children);
        const auto ns = [](const timeval& t) {
            return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_usec * 1000;
        };
        return cpu_ns() + ns(children.ru_utime) + ns(children.ru_stime);
    }

    double busy_ = busy_ns();
    std::int64_t own_ = own_ns(), wall_ = now_ns();
};

/// How long the threads of this process have been ready to run without a core, all together.
inline double run_delay_ns() {
    double sum = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream schedstat(task.path() / "schedstat");
        double ran = 0, waited = 0;
        if (schedstat >> ran >> waited) sum += waited;
    }
    return sum;
}

} // namespace bench
