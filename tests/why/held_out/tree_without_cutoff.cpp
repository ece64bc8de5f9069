// A tree of tasks down to single nodes.
#include "../work.hpp"

#include <weft/weft.hpp>

namespace {

long count(int depth) {
    if (depth == 0) return 1;
#ifdef MENDED
    if (depth < 10) return count(depth - 1) + count(depth - 1);
#endif
    long left = 0, right = 0;
    weft::task_group group;
    group.run([&] { left = count(depth - 1); }); // FAULT overhead
    group.run([&] { right = count(depth - 1); });
    group.wait();
    return left + right;
}

} // namespace

int main() {
    weft::runtime rt;
    long sum = 0;
    for (int round = 0; round < 4; ++round) sum += rt.run([] { return count(18); });
    std::printf("%ld\n", sum);
}
