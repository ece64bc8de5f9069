#include "layered.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    examples::layered_shape shape;
    std::uint32_t runs = 5;
    examples::program program("A random graph in layers, run again and again.",
                              "layered --layers 10 --width 100000 --degree 8");
    auto& options = program.options();
    options.add_option("--layers", shape.layers, "layers")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str();
    options.add_option("--width", shape.width, "tasks of a layer")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str();
    options.add_option("--degree", shape.degree, "most tasks of the layer before that a task waits for")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    options.add_option("--steps", shape.steps, "work of a task on average, about 3.5 ns each")
        ->check(CLI::Range(0U, 1U << 30))
        ->capture_default_str();
    options.add_option("--bytes", shape.bytes, "what a task writes for those that wait for it, as declared")
        ->check(CLI::Range(0U, 1U << 20))
        ->capture_default_str();
    options.add_option("--runs", runs, "runs of the graph")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        shape.seed = program.seed();
        examples::layered_graph layers(shape);
        weft::graph dag;
        layers.add_to(dag);
        auto rt = program.make_runtime();
        rt.run([&] {
            for (std::uint32_t i = 0; i < runs; ++i) dag.run();
        });
        bool right = layers.is_right(runs);

        examples::report report;
        report.add("graph tasks", dag.size());
        report.add("edges", layers.edges());
        report.add("runs", runs);
        report.add("out of order", layers.out_of_order());
        report.add_stats(rt.stats());
        report.print(program.json());
        return right;
    });
}
