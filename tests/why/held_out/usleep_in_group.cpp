// Each task of a group asks a device, and polls until it has answered.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <chrono>
#include <unistd.h>

namespace {

void ask_device() {
    for (int tries = 0; tries < 3; ++tries)
#ifdef MENDED
        weft::this_task::sleep_for(std::chrono::microseconds(500));
#else
        usleep(500); // FAULT blocking
#endif
}

} // namespace

int main() {
    weft::runtime rt;
    double sum[120] = {};
    rt.run([&] {
        weft::task_group group;
        for (double& x : sum)
            group.run([&x] {
                ask_device();
                x = compute(300 * us);
            });
        group.wait();
    });
    std::printf("%g\n", sum[7]);
}
