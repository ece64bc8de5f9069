// A group of tasks of some 100 microseconds.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

int main() {
    weft::runtime rt;
    std::vector<double> data(4000, 1.0);
    rt.run([&] {
        weft::task_group group;
        for (double& x : data) group.run([&x] { x = compute(100 * us, x); });
        group.wait();
    });
    std::printf("%g\n", data[7]);
}
