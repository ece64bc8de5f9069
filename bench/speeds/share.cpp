// How exactly a worker with an emulated speed has its share of its core: the processor time that its thread had, over the time
// that passed, while it spins and while it is in a library (zlib). Values: that share, by worker; the
// speeds should fit on the cores, so that they are not scaled.
//   speeds=1,0.8,0.5,0.32 ms=1000
#include "../common/sample.hpp"

#include <weft/weft.hpp>

#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <string>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

double cpu_seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// The share of each worker while all of them call `piece` again and again.
template <class Piece>
std::vector<double> shares(weft::runtime& rt, std::chrono::milliseconds time, const Piece& piece) {
    const int n = rt.workers();
    std::vector<double> had(static_cast<std::size_t>(n));
    rt.run([&] {
        std::atomic<int> came{0};
        weft::task_group g;
        const auto work = [&] {
            for (++came; came < n;) {}
            const auto since = clock_type::now();
            const double used = cpu_seconds();
            while (clock_type::now() - since < time) piece();
            const std::chrono::duration<double> passed = clock_type::now() - since;
            had[static_cast<std::size_t>(weft::this_task::worker())] =
                (cpu_seconds() - used) / passed.count();
        };
        for (int i = 1; i < n; ++i) g.run(work);
        work();
        g.wait();
    });
    return had;
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const std::string speeds = given.text("speeds", "0.5,0.32");
        const std::chrono::milliseconds time(given.number("ms", 1000));
        weft::runtime_options o;
        o.speeds = speeds;
        weft::runtime rt(o);
        std::vector<unsigned char> text(200'000), packed(compressBound(200'000));
        for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<unsigned char>(i * i >> 7);
        s.add("spinning", shares(rt, time, [] {}));
        s.add("in_zlib", shares(rt, time, [&] {
                  std::vector<unsigned char> to(packed.size());
                  uLongf bytes = to.size();
                  s.check(compress2(to.data(), &bytes, text.data(), text.size(), 9) == Z_OK);
              }));
    });
}
