// Task graphs on the model engine under one central queue: when each task ends. See cross_check.py.
//
// Reads, until the input ends: the number of workers, the number of tasks, and for each task its cost, how
// many successors it has, and these. Writes a line for each graph: when it was done, and when each task was.
#include <weft/weft.hpp>

#include <atomic>
#include <cstdint>
#include <iostream>
#include <vector>

#include "engine/modelled.hpp"
#include "engine/ports/host.hpp"

namespace weft {
namespace {

struct node {
    std::uint64_t cost = 0;
    std::vector<std::size_t> successors{};
    std::atomic<int> waits_for{0}; ///< predecessors that have not ended
    time_ns end = 0;
};

std::vector<node> read_graph(std::istream& in, std::size_t size) {
    std::vector<node> graph(size);
    for (node& n : graph) {
        std::size_t successors = 0;
        in >> n.cost >> successors;
        for (n.successors.resize(successors); std::size_t& s : n.successors) {
            in >> s;
            ++graph.at(s).waits_for;
        }
    }
    return graph;
}

void run(const engine::engine& on, task_group& g, std::vector<node>& graph, node& n) {
    cost(n.cost);
    n.end = on.host.now();
    for (const std::size_t s : n.successors)
        if (--graph[s].waits_for == 0) g.run([&, s] { run(on, g, graph, graph[s]); });
}

void answer(std::istream& in, int workers, std::size_t size) {
    std::vector<node> graph = read_graph(in, size);
    std::vector<node*> sources;
    for (node& n : graph)
        if (n.waits_for == 0) sources.push_back(&n);
    test::modelled model("share", test::equal_cores(workers));
    model.engine.wait_until_quiescent();
    const time_ns began = model.engine.now();
    const time_ns took = model.run([&] {
        task_group g;
        for (node* n : sources) g.run([&, n] { run(model.engine, g, graph, *n); });
        g.wait();
    });
    std::cout << took;
    for (const node& n : graph) std::cout << ' ' << n.end - began;
    std::cout << '\n';
}

} // namespace
} // namespace weft

int main() {
    int workers = 0;
    std::size_t size = 0;
    while (std::cin >> workers >> size) weft::answer(std::cin, workers, size);
}
