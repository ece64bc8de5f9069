// An image is filtered row by row, and only the pixels of one row in parallel.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

namespace {

constexpr int width = 40, height = 6000;

struct image {
    std::vector<double> pixels = std::vector<double>(width * height, 0.5);
    double& at(int row, int column) { return pixels[static_cast<std::size_t>(row * width + column)]; }
};

void filter(image& in, image& out) {
#ifdef MENDED
    weft::parallel_for(0, height, [&](int row) {
        for (int column = 0; column < width; ++column) out.at(row, column) = compute(us, in.at(row, column));
    });
#else
    for (int row = 0; row < height; ++row)
        weft::parallel_for(0, width, [&](int column) { // FAULT short_runs
            out.at(row, column) = compute(us, in.at(row, column));
        });
#endif
}

} // namespace

int main() {
    image a, b;
    filter(a, b);
    filter(b, a);
    std::printf("%g\n", a.at(3, 4));
}
