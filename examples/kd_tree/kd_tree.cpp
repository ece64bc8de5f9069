#include "kd_tree.hpp"

#include "../common/example.hpp"

#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>

int main(int argc, char** argv) {
    std::size_t n = 2'000'000, sample = 200;
    bool build_only = false;
    examples::program program("Builds a k-d tree over random points and finds the nearest neighbour of each.",
                              "kd_tree --n 8000000 --policy near");
    auto& options = program.options();
    options.add_option("--n", n, "number of points")->check(CLI::Range(2U, 1U << 27))->capture_default_str();
    options.add_option("--sample", sample, "neighbours that are checked by looking at all points")
        ->check(CLI::Range(0U, 1U << 20))
        ->capture_default_str();
    options.add_flag("--build-only", build_only, "find only the neighbours that are checked");

    return program.main(argc, argv, [&] {
        auto points = std::make_unique_for_overwrite<examples::point[]>(n);
        auto distances2 = std::make_unique_for_overwrite<double[]>(n);
        auto rt = program.make_runtime();
        rt.run([&] { examples::make_points(points.get(), n, program.seed()); });
        std::optional<examples::kd_tree> tree;
        rt.run([&] {
            tree.emplace(points.get(), n);
            if (!build_only) tree->all_nearest(distances2.get());
        });
        auto stats = rt.stats();

        std::size_t wrong = 0;
        for (std::size_t s = 0; s < sample; ++s) {
            std::size_t i = examples::random_at(program.seed() + 1, s) % n;
            const double found = build_only ? tree->nearest_to(i).distance2 : distances2[i];
            wrong += found != examples::nearest_by_brute_force(points.get(), n, i);
        }
        examples::report report;
        report.add("points", n);
        if (!build_only) {
            double sum = 0;
            for (std::size_t i = 0; i < n; ++i) sum += std::sqrt(distances2[i]);
            report.add("mean distance", sum / static_cast<double>(n));
        }
        report.add("checked", sample);
        report.add("wrong", wrong);
        report.add_stats(stats);
        report.print(program.json());
        return wrong == 0;
    });
}
