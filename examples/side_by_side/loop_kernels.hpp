// The programs of kernels.hpp as programs of loops, which is what OpenMP programs are: the same sizes and data, the serial parts on
// the thread that began, and between them loops of which each thread has one share. What a run has counted to know its costs is the
// same in the next one, and is not counted again.
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
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace examples {

// Runs once when it is called; what it needs is made before, outside of the run.
using kernel = std::function<void()>;

// How long programs run: each some 15 ms alone on 16 cores of `xeon-e5-2660-2x8`. sor, gaussian, fft and map have, as heat has, more
// data than both last-level caches of that machine: what they stand for has some hundred times as much as a cache.
inline constexpr int heat_sweeps = 15, sor_sweeps = 10, transforms = 2, maps = 1, wave_steps = 5, ages = 3,
                     body_steps = 7, searches = 3, queens_games = 4, rank_steps = 8, graph_rounds = 2;
inline constexpr std::size_t sor_side = 2560, gaussian_side = 2560, transformed = std::size_t{1} << 20,
                             mapped = std::size_t{6} << 20;
inline constexpr std::size_t gaussian_pivots = 19, matmul_side = 1040, hog_rounds = 5;
inline constexpr std::uint64_t spin_cycles = 8'000'000;
inline constexpr int log_graph_vertices = 16, log_triangle_vertices = 14;

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
        for (int k = 0; k < heat_sweeps; ++k) {
            const heat_rows sweep = k % 2 == 0 ? heat_rows{d->a, d->b} : heat_rows{d->b, d->a};
            share_out(d->a.rows(), 64, [&](std::size_t i, std::size_t j) { sweep.leaf(1 + i, 1 + j); });
        }
    };
}
inline kernel sor(std::uint64_t) {
    return [plate = std::make_shared<grid>(sor_side, sor_side)] {
        const double factor = sor_factor(*plate);
        for (int k = 0; k < sor_sweeps; ++k)
            for (const std::size_t colour : {0, 1}) {
                const sor_rows sweep{*plate, colour, factor};
                share_out(plate->rows(), 32, [&](std::size_t i, std::size_t j) { sweep.leaf(1 + i, 1 + j); });
            }
    };
}
inline kernel gaussian(std::uint64_t seed) {
    return [seed, system = std::make_shared<equations>(gaussian_side)] {
        const gaussian_start_rows start{*system, seed};
        share_out(system->size(), 32, [&](std::size_t i, std::size_t j) { start.leaf(i, j); });
        for (std::size_t pivot = 0; pivot < gaussian_pivots; ++pivot) {
            const gaussian_rows rows{*system, pivot};
            const std::size_t below = pivot + 1;
            share_out(system->size() - below, 48,
                      [&](std::size_t i, std::size_t j) { rows.leaf(below + i, below + j); });
        }
    };
}
inline kernel fft(std::uint64_t) {
    struct data {
        examples::fft of{transformed};
        std::vector<complex_number> numbers = std::vector<complex_number>(transformed);
    };
    return [d = std::make_shared<data>()] {
        for (int k = 0; k < transforms; ++k) d->of.by_levels(d->numbers, in_blocks);
    };
}
// Level by level: all parts of a level are mapped before those of the next one.
inline kernel map(std::uint64_t) {
    return [numbers = std::make_shared<std::vector<double>>(mapped)] {
        const mapped_rows rows{numbers->data()};
        const auto all = [&](const auto& f) { share_out(numbers->size(), map_bytes / sizeof(double), f); };
        for (int run = 0; run < maps; ++run)
            for (std::size_t part = numbers->size();; part /= 2) {
                for (int k = 0; k < repeated_maps; ++k)
                    all([&](std::size_t i, std::size_t j) { rows.leaf(i, j); });
                if (!is_halved(part)) break;
            }
    };
}
inline kernel elements(std::uint64_t seed) {
    return [mesh = std::make_shared<wave_mesh>(24, 3, seed)] {
        for (int step = 0; step < wave_steps; ++step) mesh->step_in_loops(each);
    };
}
inline kernel matmul(std::uint64_t) {
    struct data {
        matrix a{matmul_side, matmul_side}, b{matmul_side, matmul_side}, c{matmul_side, matmul_side};
    };
    return [d = std::make_shared<data>()] { multiply_by_rows(d->a, d->b, d->c, 80, each); };
}
inline kernel islands(std::uint64_t seed) {
    return [all = std::make_shared<archipelago>(32, 24, 8, seed)] { all->evolve_in_loops(ages, 6, each); };
}
inline kernel n_body(std::uint64_t seed) {
    return [bodies = std::make_shared<examples::n_body>(2048, 128, seed)] {
        for (int step = 0; step < body_steps; ++step) bodies->step_in_loops(each);
    };
}
inline kernel nearest(std::uint64_t seed) {
    struct data {
        std::vector<point> points = std::vector<point>(100'000);
        std::vector<double> distances = std::vector<double>(100'000);
        std::vector<std::size_t> looked_at{};
    };
    return [seed, d = std::make_shared<data>()] {
        make_points(d->points.data(), d->points.size(), seed);
        const kd_tree tree(d->points.data(), d->points.size(), each);
        for (int search = 0; search < searches; ++search)
            tree.all_nearest(d->distances.data(), each, &d->looked_at);
    };
}
inline kernel queens(std::uint64_t) {
    return [counts = std::make_shared<std::vector<nqueens_count>>()] {
        for (int k = 0; k < queens_games; ++k) nqueens_in_loops(board{13}, 3, each, counts.get());
    };
}

// The graph of that seed is drawn once; each program has a copy.
inline power_law_graph graph_of(std::uint64_t seed, int log_vertices) {
    static std::map<std::pair<std::uint64_t, int>, power_law_graph> drawn;
    return drawn.try_emplace({seed, log_vertices}, log_vertices, 8, seed, true).first->second;
}
template <auto Run>
kernel on_graph(std::uint64_t seed) {
    return [g = std::make_shared<power_law_graph>(graph_of(seed, log_graph_vertices))] {
        if (!graph_disk.empty()) g->load(graph_disk);
        Run(*g);
    };
}
inline kernel triangles(std::uint64_t seed) {
    struct data {
        power_law_graph g;
        std::vector<counted_triangles> counts{};
    };
    return [d = std::make_shared<data>(data{graph_of(seed, log_triangle_vertices)})] {
        if (!graph_disk.empty()) d->g.load(graph_disk);
        if (d->counts.empty())
            for (const auto& b : d->g.blocks()) d->counts.push_back(triangles_in(d->g, b));
        examples::triangles(d->g, [&](const power_law_graph::block& b) { return d->counts[b.number]; });
    };
}

inline kernel spin(std::uint64_t) {
    return [] { share_out(64, 1, [](std::size_t, std::size_t) { weft::cost(spin_cycles); }); };
}
inline kernel cache_hog(std::uint64_t seed) {
    constexpr std::size_t pieces = 256, bytes = std::size_t{1} << 20, line = 64;
    return [seed, all = std::make_shared_for_overwrite<char[]>(pieces * bytes)] {
        share_out(pieces * hog_rounds, 1, [&](std::size_t i, std::size_t) {
            const std::size_t at = random_at(seed, i) % pieces;
            weft::touch(all.get() + at * bytes, bytes, weft::access::read);
            spend(bytes / line, 2);
        });
    };
}

} // namespace loops
} // namespace examples
