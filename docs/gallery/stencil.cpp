#include <weft/weft.hpp>

#include <cstdio>
#include <utility>
#include <vector>

/// Heat on a rod, sweep after sweep over the same data; halves are hinted, so that a policy can place them.
constexpr std::size_t cells = 1 << 20, leaf = 1 << 14;

static void sweep(const float* from, float* to, std::size_t begin, std::size_t end) {
    if (end - begin <= leaf) {
        weft::touch(from + begin, (end - begin) * sizeof(float), weft::access::read);
        weft::touch(to + begin, (end - begin) * sizeof(float), weft::access::write);
        weft::cost(end - begin);
        for (std::size_t i = begin; i < end; ++i)
            to[i] = i == 0 || i == cells - 1 ? from[i] : (from[i - 1] + from[i] + from[i + 1]) / 3;
        return;
    }
    const std::size_t middle = (begin + end) / 2;
    weft::join([=] { sweep(from, to, begin, middle); }, [=] { sweep(from, to, middle, end); },
               weft::join_hints{.first = {.work = 1}, .second = {.work = 1}});
}

int main() {
    std::vector<float> a(cells, 0), b(cells, 0);
    a[0] = 100;
    weft::runtime machine;
    machine.run([&] {
        for (int k = 0; k < 4; ++k) {
            weft::iteration(k);
            sweep(a.data(), b.data(), 0, cells);
            std::swap(a, b);
        }
    });
    std::printf("second cell: %.2f\n", static_cast<double>(a[1]));
}
