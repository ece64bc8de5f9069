// A simulation of many small steps, each of three small loops.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

namespace {

constexpr int cells = 24;

template <class Body>
void each(Body&& body) {
#ifdef MENDED
    for (int i = 0; i < cells; ++i) body(i);
#else
    weft::parallel_for(0, cells, body); // FAULT short_runs
#endif
}

} // namespace

int main() {
    std::vector<double> x(cells, 1.0), v(cells, 0.5);
    for (int step = 0; step < 5000; ++step) {
        each([&](int i) {
            v[static_cast<std::size_t>(i)] = compute(80, v[static_cast<std::size_t>(i)]);
        }); // AT short_runs
        each([&](int i) { x[static_cast<std::size_t>(i)] = compute(80, x[static_cast<std::size_t>(i)]); });
        each([&](int i) { x[static_cast<std::size_t>(i)] += v[static_cast<std::size_t>(i)]; });
    }
    std::printf("%g\n", x[7]);
}
