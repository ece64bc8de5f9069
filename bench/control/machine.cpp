// What the machine itself does, without weft: from pthread_kill to the handler on a spinning thread of the
// other core, and from a futex wake to the woken thread. The latencies of the runtime contain these.
//   samples=40
#include "../common/sample.hpp"
#include "kernel.hpp"

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const int samples = given.number("samples", 40);
        s.with_both_cores([&] {
            s.add("signal_us", bench::signals(samples));
            s.add("wake_us", bench::wakes(samples).until_woken_us);
        });
    });
}
