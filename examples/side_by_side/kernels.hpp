// The programs that can run side by side, by name: each is another example, or of power_law_graph.hpp, in a size that takes some
// tenths of a second on a core. A program has its own data, so two of one kind share none. Each is there in two forms: as tasks,
// and as static loops (loop_kernels.hpp).
#pragma once

#include "loop_kernels.hpp"
#include "power_law_graph.hpp"

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

#include <weft/graph.hpp>
#include <weft/weft.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace examples {

struct named_kernel {
    std::string name, what;
    kernel (*tasks)(std::uint64_t seed);
    kernel (*loops)(std::uint64_t seed);
};

namespace kernels {

inline kernel heat(std::uint64_t) {
    struct data {
        grid a{2048, 2048}, b{2048, 2048};
    };
    return [d = std::make_shared<data>()] { examples::heat(d->a, d->b, heat_sweeps, 64); };
}
inline kernel sor(std::uint64_t) {
    return [plate = std::make_shared<grid>(sor_side, sor_side)] { examples::sor(*plate, sor_sweeps, 32); };
}
inline kernel gaussian(std::uint64_t seed) {
    return [seed, system = std::make_shared<equations>(gaussian_side)] {
        gaussian_start(*system, seed, 32, task_tree::regular);
        examples::gaussian(*system, gaussian_pivots, 48);
    };
}
inline kernel fft(std::uint64_t) {
    struct data {
        examples::fft of{transformed};
        std::vector<complex_number> numbers = std::vector<complex_number>(transformed);
    };
    return [d = std::make_shared<data>()] {
        for (int k = 0; k < transforms; ++k) d->of(d->numbers);
    };
}
inline kernel map(std::uint64_t) {
    return [numbers = std::make_shared<std::vector<double>>(mapped)] {
        for (int k = 0; k < maps; ++k) repeated_map(numbers->data(), numbers->size());
    };
}
inline kernel elements(std::uint64_t seed) {
    return [seed] {
        wave_mesh mesh(24, 3, seed); // its data belong to one graph
        weft::graph dag;
        for (int step = 0; step < wave_steps; ++step)
            mesh.add_step(dag, [](const auto& forces) { return weft::commutative(forces); }, false);
        dag.run();
    };
}
inline kernel matmul(std::uint64_t) {
    struct data {
        matrix a{matmul_side, matmul_side}, b{matmul_side, matmul_side}, c{matmul_side, matmul_side};
    };
    return [d = std::make_shared<data>()] { multiply(d->a, d->b, d->c, 80); };
}
inline kernel islands(std::uint64_t seed) {
    return [all = std::make_shared<archipelago>(32, 24, 8, seed)] { all->evolve(ages, 6); };
}
inline kernel n_body(std::uint64_t seed) {
    return [bodies = std::make_shared<examples::n_body>(2048, 128, seed)] {
        for (int step = 0; step < body_steps; ++step) {
            weft::graph dag;
            bodies->add_step(dag, [](auto forces) { return weft::commutative(forces); });
            dag.run();
        }
    };
}
inline kernel nearest(std::uint64_t seed) {
    struct data {
        std::vector<point> points = std::vector<point>(100'000);
        std::vector<double> distances = std::vector<double>(100'000);
    };
    return [seed, d = std::make_shared<data>()] {
        make_points(d->points.data(), d->points.size(), seed);
        const kd_tree tree(d->points.data(), d->points.size());
        for (int search = 0; search < searches; ++search) tree.all_nearest(d->distances.data());
    };
}
inline kernel queens(std::uint64_t) {
    return [] {
        for (int k = 0; k < queens_games; ++k) nqueens(board{13}, 3);
    };
}

template <auto Run>
kernel on_graph(std::uint64_t seed) {
    return [g = std::make_shared<power_law_graph>(log_graph_vertices, 8, seed)] { Run(*g); };
}
inline kernel triangles(std::uint64_t seed) {
    return
        [g = std::make_shared<power_law_graph>(log_triangle_vertices, 8, seed)] { examples::triangles(*g); };
}

// Computes in its registers.
inline kernel spin(std::uint64_t) {
    return [] { weft::parallel_for(0, 64, [](int) { weft::cost(spin_cycles); }, {.grain = 1}); };
}
// Misses the last-level cache with every line: reads 256 MB, a megabyte here and there.
inline kernel cache_hog(std::uint64_t seed) {
    constexpr std::size_t pieces = 256, bytes = std::size_t{1} << 20, line = 64;
    return [seed, all = std::make_shared_for_overwrite<char[]>(pieces * bytes)] {
        weft::parallel_for(0, static_cast<int>(pieces * hog_rounds),
                           [&](int i) {
                               const std::uint64_t at =
                                   random_at(seed, static_cast<std::uint64_t>(i)) % pieces;
                               weft::touch(all.get() + at * bytes, bytes, weft::access::read);
                               spend(bytes / line, 2);
                           },
                           {.grain = 1});
    };
}

} // namespace kernels

// A program on a graph, in both forms; the graph says which one it is made for.
template <auto Run>
named_kernel on_graph(std::string name, std::string what) {
    return {std::move(name), std::move(what), kernels::on_graph<Run>, loops::on_graph<Run>};
}

inline const std::vector<named_kernel>& all_kernels() {
    static const std::vector<named_kernel> all = {
        {"heat", "sweeps over a plate of 2 x 32 MB", kernels::heat, loops::heat},
        {"sor", "over-relaxation of 52 MB", kernels::sor, loops::sor},
        {"gaussian", "elimination of 52 MB", kernels::gaussian, loops::gaussian},
        {"fft", "transforms of 16 MB, with 32 MB of roots and copies", kernels::fft, loops::fft},
        {"map", "48 MB are mapped, then their halves, and so on", kernels::map, loops::map},
        {"elements", "finite elements, steps of a graph", kernels::elements, loops::elements},
        {"matmul", "a product of matrices of 9 MB each", kernels::matmul, loops::matmul},
        {"islands", "a genetic algorithm", kernels::islands, loops::islands},
        {"n_body", "gravity between 2048 bodies, steps of a graph", kernels::n_body, loops::n_body},
        {"nearest", "a k-d tree of 100,000 points and their neighbours", kernels::nearest, loops::nearest},
        {"queens", "13 queens, again and again", kernels::queens, loops::queens},
        on_graph<[](const power_law_graph& g) {
            for (std::size_t root = 0; root < graph_rounds / 2; ++root)
                static_cast<void>(betweenness(g, root));
        }>("betweenness", "shortest ways over each vertex of a graph with a power law, from some roots"),
        on_graph<[](const power_law_graph& g) { static_cast<void>(pagerank(g, rank_steps)); }>(
            "pagerank", "steps of PageRank on such a graph"),
        {"triangles", "the triangles of such a graph", kernels::triangles, loops::triangles},
        on_graph<[](const power_law_graph& g) {
            for (std::size_t root = 0; root < graph_rounds; ++root)
                static_cast<void>(breadth_first_search(g, root));
        }>("search", "breadth-first search in such a graph, from some roots"),
        on_graph<[](const power_law_graph& g) {
            for (int k = 0; k < graph_rounds; ++k) static_cast<void>(components(g));
        }>("components", "connected components of such a graph, again and again"),
        {"spin", "computes in registers", kernels::spin, loops::spin},
        {"cache-hog", "reads 256 MB, here and there", kernels::cache_hog, loops::cache_hog},
    };
    return all;
}

} // namespace examples
