#include "dag.hpp"
#include "kernels.hpp"

#include "../common/example.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace {

using namespace examples;

// The kernels' data, and what each node has computed.
class run_of {
public:
    run_of(const dag& d, std::size_t copy_words)
        : dag_(d)
        , results_(d.nodes.size())
        , shares_(d.nodes.size()) {
        matmuls_.resize(d.buffers[0]);
        sorts_.resize(d.buffers[1]);
        for (std::size_t i = 0; i < d.buffers[2]; ++i) copies_.emplace_back(copy_words);
    }
    void share(std::size_t i, int rank, int width) {
        results_[i].fetch_add(compute(i, rank, width),
                              std::memory_order_relaxed); // the end of the graph publishes it
        shares_[i].fetch_add(static_cast<int>(dag_shares / width), std::memory_order_relaxed); // as above
    }
    // Each node has run once, with all its shares.
    bool is_complete() const {
        for (const auto& s : shares_)
            if (s.load(std::memory_order_relaxed) != dag_shares) return false;
        return true;
    }
    bool operator==(const run_of& other) const {
        for (std::size_t i = 0; i < results_.size(); ++i)
            if (results_[i].load(std::memory_order_relaxed) !=
                other.results_[i].load(std::memory_order_relaxed))
                return false;
        return true;
    }

private:
    static constexpr int dag_shares = 64; // widths are powers of two up to this

    std::uint64_t compute(std::size_t i, int rank, int width) {
        const dag_node& node = dag_.nodes[i];
        switch (node.kind) {
        case kernel_kind::matmul: return matmuls_[node.buffer].run(rank, width);
        case kernel_kind::sort: return sorts_[node.buffer].run(mix(i), rank, width);
        default: return copies_[node.buffer].run(mix(i), rank, width);
        }
    }

    const dag& dag_;
    std::deque<matmul_buffer> matmuls_;
    std::deque<sort_buffer> sorts_;
    std::deque<copy_buffer> copies_;
    std::vector<std::atomic<std::uint64_t>> results_;
    std::vector<std::atomic<int>> shares_;
};

enum class workers_of { one, place, team };

void run_on_workers(run_of& r, const dag& d, int width, workers_of task, const std::vector<double>& works) {
    weft::graph g;
    std::vector<weft::graph_task> tasks;
    for (std::size_t i = 0; i < d.nodes.size(); ++i) {
        std::vector<weft::graph_task> after;
        for (const std::size_t p : d.nodes[i].after) after.push_back(tasks[p]);
        const auto kind = static_cast<std::size_t>(d.nodes[i].kind);
        const weft::hints h{.work = works[kind], .name = kernel_names[kind]};
        const auto share = [&r, i](int rank, int wide) { r.share(i, rank, wide); };
        if (task == workers_of::one)
            tasks.push_back(g.add([&r, i] { r.share(i, 0, 1); }, h, after));
        else if (task == workers_of::place)
            tasks.push_back(g.add(weft::moldable(share), h, after, weft::width(width)));
        else
            tasks.push_back(
                g.add(weft::moldable(share), h, after, weft::fixed_width(width, weft::within::cache)));
    }
    g.run();
}

} // namespace

int main(int argc, char** argv) {
    std::size_t nodes = 3000, degree = 3, chains = 0, copy_words = dag_words;
    double parallelism = 3.03;
    int width = 1;
    std::string kernel = "matmul";
    bool plain = false, teams = false;
    program p("A random graph of moldable kernels: products of matrices, sorts and copies.",
              "random_dag --nodes 300 --parallelism 3.03 --width 2");
    p.add_costs_only();
    p.options().add_option("--nodes", nodes, "tasks")->capture_default_str()->check(CLI::Range(1, 1'000'000));
    p.options()
        .add_option("--parallelism", parallelism, "tasks / tasks on the longest path")
        ->capture_default_str()
        ->check(CLI::Range(1.0, 1e6));
    p.options()
        .add_option("--degree", degree, "tasks that a task waits for, at most")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    p.options()
        .add_option("--width", width, "workers that a task asks for")
        ->capture_default_str()
        ->check(CLI::IsMember({1, 2, 4, 8, 16, 32, 64}));
    p.options()
        .add_option("--chains", chains, "no random graph, but so many chains of one kernel")
        ->check(CLI::Range(1, 1024));
    p.options()
        .add_option("--kernel", kernel, "of the chains")
        ->capture_default_str()
        ->check(CLI::IsMember({"matmul", "sort", "copy"}));
    p.options()
        .add_option("--copy-words", copy_words, "of 8 bytes: the size of a copy")
        ->capture_default_str()
        ->check(CLI::Range(64, 100'000'000));
    auto* const is_plain =
        p.options().add_flag("--plain", plain, "tasks of one worker, which are not moldable");
    p.options()
        .add_flag("--teams", teams, "the width is fixed: all workers come together before a task begins")
        ->excludes(is_plain);

    return p.main(argc, argv, [&] {
        const auto kind = static_cast<kernel_kind>(kernel == "matmul" ? 0 : kernel == "sort" ? 1 : 2);
        const dag d =
            chains > 0 ? chains_of(kind, nodes, chains) : random_dag(nodes, parallelism, degree, p.seed());
        run_of r(d, copy_words);
        const auto task = plain ? workers_of::one : teams ? workers_of::team : workers_of::place;
        auto rt = p.make_runtime();
        rt.run([&] { run_on_workers(r, d, width, task, {1, 1, 1}); });
        const auto stats = rt.stats();
        bool is_right = r.is_complete();
        if (is_right && kernels_compute) {
            run_of serial(d, copy_words);
            for (std::size_t i = 0; i < nodes; ++i) serial.share(i, 0, 1);
            is_right = r == serial;
        }
        report out;
        out.add("nodes", nodes);
        out.add("parallelism", d.parallelism());
        out.add("nodes per second", static_cast<double>(nodes) / stats.seconds);
        out.add_stats(stats);
        out.print(p.json());
        return is_right;
    });
}
