// Divide and conquer with forks down to small leaves.
#include "../work.hpp"

#include <weft/weft.hpp>

namespace {

double solve(int n) {
    if (n < 12) return compute(20 * us, n);
    double left = 0, right = 0;
    weft::join([&] { left = solve(n - 1); }, [&] { right = solve(n - 2); });
    return left + right;
}

} // namespace

int main() {
    weft::runtime rt;
    double sum = 0;
    for (int round = 0; round < 4; ++round) sum += rt.run([] { return solve(26); });
    std::printf("%g\n", sum);
}
