// A sum by divide and conquer, with a future for each number.
#include "../work.hpp"

#include <weft/weft.hpp>

namespace {

double sum(int from, int to) {
    if (to - from == 1) return compute(20, from);
#ifdef MENDED
    if (to - from <= 1024) {
        double all = 0;
        for (int i = from; i < to; ++i) all += compute(20, i);
        return all;
    }
#endif
    const int middle = (from + to) / 2;
    auto left = weft::async([=] { return sum(from, middle); }); // FAULT overhead
    const double right = sum(middle, to);
    return left.get() + right;
}

} // namespace

int main() {
    weft::runtime rt;
    double all = 0;
    for (int round = 0; round < 3; ++round) all += rt.run([] { return sum(0, 1 << 18); });
    std::printf("%g\n", all);
}
