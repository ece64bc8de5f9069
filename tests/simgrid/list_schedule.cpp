// Task graphs on the model engine: when each task ends. See cross_check.py and cross_check_links.py.
//
//     list_schedule                           equal processors, one central queue
//     list_schedule MACHINE each|together     each task on its place, a rank of the machine, first come first served
//
// Reads, until the input ends: the number of workers, the number of tasks, and for each task its cost, its place, how
// many successors it has, and for each its number and the bytes that it gets. A task that begins gets what other places
// have for it: from one task after another, or from all of them in one stretch of code. Writes a line for each
// graph: when it was done, and when each task was.
#include <weft/weft.hpp>

#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/by_hand.hpp"
#include "engine/modelled.hpp"
#include "engine/ports/host.hpp"
#include "engine/worker/runtime_entry.hpp"

namespace weft {
namespace {

enum class fetches : std::uint8_t { each, together };

struct setting {
    std::optional<machine> on{};
    fetches how = fetches::each;
};

struct data {
    const void* at = nullptr; ///< a number: nothing is read
    std::size_t bytes = 0;
};

struct node {
    std::uint64_t cost = 0;
    int place = 0;
    std::vector<std::size_t> successors{};
    std::vector<data> inputs{};
    std::atomic<int> waits_for{0}; ///< predecessors that have not ended
    time_ns end = 0;
};

struct edge {
    std::size_t from, to, bytes;
};

std::vector<node> read_graph(std::istream& in, std::size_t size, std::vector<edge>& edges) {
    std::vector<node> graph(size);
    for (std::size_t from = 0; from < size; ++from) {
        node& n = graph[from];
        std::size_t successors = 0;
        in >> n.cost >> n.place >> successors;
        for (n.successors.resize(successors); std::size_t& s : n.successors) {
            std::size_t bytes = 0;
            in >> s >> bytes;
            ++graph.at(s).waits_for;
            edges.push_back({from, s, bytes});
        }
    }
    return graph;
}

/// Data of each edge, on the memory of the place of the task that writes them.
void place_data(std::vector<node>& graph, const std::vector<edge>& edges) {
    constexpr std::uintptr_t apart = std::uintptr_t{1} << 32;
    std::uintptr_t next = apart;
    for (const edge& e : edges) {
        if (e.bytes == 0) continue;
        const void* const at = reinterpret_cast<const void*>(next);
        next += apart;
        bind_to_node(at, e.bytes, graph[e.from].place);
        graph[e.to].inputs.push_back({at, e.bytes});
    }
}

/// A stretch of code ends here, so what it has touched arrives.
void await_touched() {
    engine::enter_runtime();
    engine::leave_runtime();
}

void fetch(const node& n, fetches how) {
    for (const data& d : n.inputs) {
        touch(d.at, d.bytes, access::read);
        if (how == fetches::each) await_touched();
    }
    await_touched();
}

struct execution {
    const engine::engine& on;
    const setting& as;
    task_group& group;
    std::vector<node>& graph;

    void spawn(node& n) {
        group.run([this, &n] { run(n); }, hints{.priority = n.place});
    }
    void run(node& n) {
        fetch(n, as.how);
        cost(n.cost);
        n.end = on.host.now();
        for (const std::size_t s : n.successors)
            if (--graph[s].waits_for == 0) spawn(graph[s]);
    }
};

test::modelled model_of(const setting& as, int workers) {
    if (as.on) return {std::make_unique<test::by_hand>(), *as.on};
    return {"share", test::equal_cores(workers)};
}

void answer(std::istream& in, const setting& as, int workers, std::size_t size) {
    std::vector<edge> edges;
    std::vector<node> graph = read_graph(in, size, edges);
    std::vector<node*> sources;
    for (node& n : graph)
        if (n.waits_for == 0) sources.push_back(&n);
    test::modelled model = model_of(as, workers);
    model.engine.wait_until_quiescent();
    const time_ns began = model.engine.now();
    const time_ns took = model.run([&] {
        place_data(graph, edges);
        task_group g;
        execution all{model.engine, as, g, graph};
        for (node* n : sources) all.spawn(*n);
        g.wait();
    });
    std::cout << took;
    for (const node& n : graph) std::cout << ' ' << n.end - began;
    std::cout << '\n';
}

} // namespace
} // namespace weft

int main(int argc, char** argv) {
    weft::setting as;
    if (argc > 2) {
        as.on = weft::load_machine(argv[1]);
        as.how = std::string_view(argv[2]) == "each" ? weft::fetches::each : weft::fetches::together;
    }
    int workers = 0;
    std::size_t size = 0;
    while (std::cin >> workers >> size) weft::answer(std::cin, as, workers, size);
}
