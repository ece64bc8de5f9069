// A task for each of a million numbers.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

int main() {
    weft::runtime rt;
    std::vector<double> data(1'000'000, 1.0);
    rt.run([&] {
        weft::task_group group;
#ifdef MENDED
        for (std::size_t from = 0; from < data.size(); from += 1000)
            group.run([&data, from] {
                for (std::size_t i = from; i < from + 1000; ++i) data[i] = compute(20, data[i]);
            });
#else
        for (double& x : data) group.run([&x] { x = compute(20, x); }); // FAULT overhead
#endif
        group.wait();
    });
    std::printf("%g\n", data[7]);
}
