#include "uts.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    examples::uts_tree tree;
    examples::program program("Unbalanced Tree Search. Without options: the tree T1, 4,130,071 nodes.",
                              "uts --tree-depth 12 --tree-seed 7");
    auto& options = program.options();
    options.add_option("--branching", tree.branching, "expected number of children")
        ->check(CLI::Range(0.01, 50.0))
        ->capture_default_str();
    options.add_option("--tree-depth", tree.max_depth, "largest depth")
        ->check(CLI::Range(0U, 1000U))
        ->capture_default_str();
    options.add_option("--tree-seed", tree.seed, "seed of the tree")->capture_default_str();

    return program.main(argc, argv, [&] {
        auto root = examples::uts_node::root(tree.seed);
        auto rt = program.make_runtime();
        examples::uts_totals totals;
        rt.run([&](weft::context here) { totals = examples::uts_search(here, tree, root); });
        auto expected = tree == examples::uts_t1 ? examples::uts_t1_totals : examples::uts_serial(tree, root);

        examples::report report;
        report.add("nodes", totals.nodes);
        report.add("leaves", totals.leaves);
        report.add("depth", totals.depth);
        report.add_stats(rt.stats());
        report.print(program.json());
        return totals == expected;
    });
}
