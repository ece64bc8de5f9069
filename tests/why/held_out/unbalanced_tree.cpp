// Divide and conquer in which one leaf has most of the work.
#include "../work.hpp"

#include <weft/weft.hpp>

namespace {

double solve(int from, int to) {
    if (to - from == 1) {
#ifdef MENDED
        return compute(2875 * us / 10, from);
#else
        return compute(from == 37 ? 40 * ms : 130 * us, from); // FAULT long_piece
#endif
    }
    const int middle = (from + to) / 2;
    double left = 0, right = 0;
    weft::join([&] { left = solve(from, middle); }, [&] { right = solve(middle, to); });
    return left + right;
}

} // namespace

int main() {
    weft::runtime rt;
    double sum = 0;
    for (int round = 0; round < 4; ++round) sum += rt.run([] { return solve(0, 256); });
    std::printf("%g\n", sum);
}
