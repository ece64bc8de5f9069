// The data are made one after another before the first loop.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

namespace {

class grid {
public:
    explicit grid(std::size_t n) : cells_(n) {
#ifdef MENDED
        weft::parallel_for(std::size_t{0}, n, [&](std::size_t i) { cells_[i] = compute(60 * us, 1.0); });
#else
        for (double& cell : cells_) cell = compute(60 * us, 1.0); // FAULT serial
#endif
    }
    void step() {
        weft::parallel_for(std::size_t{0}, cells_.size(),
                           [&](std::size_t i) { cells_[i] += compute(20 * us); });
    }
    double at(std::size_t i) const { return cells_[i]; }

private:
    std::vector<double> cells_;
};

} // namespace

int main() {
    grid g(3000);
    for (int i = 0; i < 4; ++i) g.step();
    std::printf("%g\n", g.at(7));
}
