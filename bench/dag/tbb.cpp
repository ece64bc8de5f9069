// The flow graph of oneTBB: continue_node and make_edge, in an arena of its own size. The policy
// `lightweight`, which runs bodies on the thread that made them ready, would leave nothing to the other
// threads.
#include "program.hpp"

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <optional>
#include <vector>

namespace {

using node = tbb::flow::continue_node<tbb::flow::continue_msg>;

class runtime {
public:
    struct graph {
        std::optional<tbb::flow::graph> all; // belongs to the arena in which it is made
        std::vector<node> nodes;
        std::vector<node*> first; // those that wait for no other node

        void run() {
            for (node* n : first) n->try_put(tbb::flow::continue_msg());
            all->wait_for_all();
        }
    };

    runtime(const bench::arguments&, int workers)
        : limit_(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers))
        , arena_(workers) {}

    template <class Shape, class Tasks>
    void build_and_run(graph& g, const Shape& shape, Tasks& tasks) {
        arena_.execute([&] {
            g.all.emplace();
            g.nodes.reserve(dag::size(shape)); // edges are kept by address
            dag::each_task(shape, [&](dag::number at, const auto& before) {
                node& added = g.nodes.emplace_back(
                    *g.all, [body = tasks.body(at)](const tbb::flow::continue_msg&) { body(); });
                bool waits = false;
                for (const dag::number p : before)
                    if (p != at) {
                        tbb::flow::make_edge(g.nodes[p], added);
                        waits = true;
                    }
                if (!waits) g.first.push_back(&added);
            });
            g.run();
        });
    }
    void run_again(graph& g) {
        arena_.execute([&] { g.run(); });
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
};

} // namespace

int main(int argc, char** argv) { return dag::program<runtime>(argc, argv); }
