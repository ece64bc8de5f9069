// The programs of kernels.hpp as programs of loops, which is what OpenMP programs are: the same sizes and data, the serial parts on
// the thread that began, and between them loops of which each thread has one share.
#pragma once

#include "power_law_graph.hpp"
#include "static_loop.hpp"

#include "../fft/fft.hpp"
#include "../finite_elements/finite_elements.hpp"
#include "../gaussian/gaussian.hpp"
#include "../heat2d/heat2d.hpp"
#include "../islands/islands.hpp"
#include "../kd_tree/kd_tree.hpp"
#include "../matmul/matmul.hpp"
#include "../n_body/n_body.hpp"
#include "../nqueens/nqueens.hpp"
#include "../repeated_map/repeated_map.hpp"
#include "../sor/sor.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace examples {

// Runs once when it is called; what it needs is made before, outside of the run.
using kernel = std::function<void()>;

// The disk from which the graph programs load their graph, when they run as loops. Empty: it is in memory.
inline std::string_view graph_disk{};

namespace loops {

// One iteration, and so many, at a time.
inline constexpr auto each = [](std::size_t n, const auto& f) { share_out(n, 1, f); };
inline constexpr auto in_blocks = [](std::size_t n, std::size_t block, const auto& f) {
    share_out(n, block, f);
};

inline kernel heat(std::uint64_t) {
    struct data {
        grid a{2048, 2048}, b{2048, 2048};
    };
    return [d = std::make_shared<data>()] {
        for (int k = 0; k < 40; ++k) {
            const heat_rows sweep = k % 2 == 0 ? heat_rows{d->a, d->b} : heat_rows{d->b, d->a};
            share_out(d->a.rows(), 64, [&](std::size_t i, std::size_t j) { sweep.leaf(1 + i, 1 + j); });
        }
    };
}
inline kernel sor(std::uint64_t) {
    return [plate = std::make_shared<grid>(1024, 1024)] {
        const double factor = sor_factor(*plate);
        for (int k = 0; k < 120; ++k)
            for (const std::size_t colour : {0, 1}) {
                const sor_rows sweep{*plate, colour, factor};
                share_out(plate->rows(), 32, [&](std::size_t i, std::size_t j) { sweep.leaf(1 + i, 1 + j); });
            }
    };
}
inline kernel gaussian(std::uint64_t seed) {
    return [seed, system = std::make_shared<equations>(768)] {
        const gaussian_start_rows start{*system, seed};
        share_out(system->size(), 32, [&](std::size_t i, std::size_t j) { start.leaf(i, j); });
        for (std::size_t pivot = 0; pivot < 300; ++pivot) {
            const gaussian_rows rows{*system, pivot};
            const std::size_t below = pivot + 1;
            share_out(system->size() - below, 48,
                      [&](std::size_t i, std::size_t j) { rows.leaf(below + i, below + j); });
        }
    };
}
inline kernel fft(std::uint64_t) {
    struct data {
        examples::fft of{std::size_t{1} << 18};
        std::vector<complex_number> numbers = std::vector<complex_number>(std::size_t{1} << 18);
    };
    return [d = std::make_shared<data>()] {
        for (int k = 0; k < 8; ++k) d->of.by_levels(d->numbers, in_blocks);
    };
}
// Level by level: all parts of a level are mapped before those of the next one.
inline kernel map(std::uint64_t) {
    return [numbers = std::make_shared<std::vector<double>>(std::size_t{3} << 19)] {
        const mapped_rows rows{numbers->data()};
        const auto all = [&](const auto& f) { share_out(numbers->size(), map_bytes / sizeof(double), f); };
        for (int run = 0; run < 4; ++run)
            for (std::size_t part = numbers->size();; part /= 2) {
                for (int k = 0; k < repeated_maps; ++k)
                    all([&](std::size_t i, std::size_t j) { rows.leaf(i, j); });
                if (!is_halved(part)) break;
            }
    };
}
inline kernel elements(std::uint64_t seed) {
    return [seed] {
        wave_mesh mesh(24, 3, seed);
        for (int step = 0; step < 6; ++step) mesh.step_in_loops(each);
    };
}
inline kernel matmul(std::uint64_t) {
    struct data {
        matrix a{1280, 1280}, b{1280, 1280}, c{1280, 1280};
    };
    return [d = std::make_shared<data>()] { multiply_by_rows(d->a, d->b, d->c, 80, each); };
}
inline kernel islands(std::uint64_t seed) {
    return [all = std::make_shared<archipelago>(32, 24, 8, seed)] { all->evolve_in_loops(6, 6, each); };
}
inline kernel n_body(std::uint64_t seed) {
    return [bodies = std::make_shared<examples::n_body>(2048, 128, seed)] {
        for (int step = 0; step < 3; ++step) bodies->step_in_loops(each);
    };
}
inline kernel nearest(std::uint64_t seed) {
    struct data {
        std::vector<point> points = std::vector<point>(100'000);
        std::vector<double> distances = std::vector<double>(100'000);
    };
    return [seed, d = std::make_shared<data>()] {
        make_points(d->points.data(), d->points.size(), seed);
        kd_tree(d->points.data(), d->points.size(), each).all_nearest(d->distances.data(), each);
    };
}
inline kernel queens(std::uint64_t) {
    return [] { nqueens_in_loops(board{13}, 3, each); };
}

template <auto Run>
kernel on_graph(std::uint64_t seed) {
    return [g = std::make_shared<power_law_graph>(16, 8, seed, true)] {
        if (!graph_disk.empty()) g->load(graph_disk);
        Run(*g);
    };
}

inline kernel spin(std::uint64_t) {
    return [] { share_out(64, 1, [](std::size_t, std::size_t) { weft::cost(10'000'000); }); };
}
inline kernel cache_hog(std::uint64_t seed) {
    constexpr std::size_t pieces = 256, bytes = std::size_t{1} << 20, line = 64;
    return [seed, all = std::make_shared<std::vector<char>>(pieces * bytes)] {
        share_out(pieces, 1, [&](std::size_t i, std::size_t) {
            const std::size_t at = random_at(seed, i) % pieces;
            weft::touch(all->data() + at * bytes, bytes, weft::access::read);
            spend(bytes / line, 2);
        });
    };
}

} // namespace loops
} // namespace examples
