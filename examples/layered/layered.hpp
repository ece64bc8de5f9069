// A random graph in layers: each task waits for some of the layer before. There is nothing in it but the
// order, so it shows what a graph costs, and whether it is right: each task looks whether those that it waits
// for have ended.
#pragma once

#include "../common/cost.hpp"
#include "../common/random.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace examples {

struct layered_shape {
    std::size_t layers = 200, width = 200;
    std::size_t degree = 4;  // a task waits for 1 to so many
    std::size_t steps = 200; // a task takes 0 to twice as many
    std::size_t bytes = 0;   // that a task writes, and those that wait for it read; only declared
    std::uint64_t seed = 1;

    std::size_t size() const { return layers * width; }
    std::uint64_t random(std::size_t task, std::size_t i) const { return random_at(mix(seed) + task, i); }

    std::size_t steps_of(std::size_t task) const { return random(task, 0) % (2 * steps + 1); }

    // In ascending order, each once.
    std::vector<std::size_t> predecessors(std::size_t task) const {
        std::vector<std::size_t> all;
        if (task < width) return all;
        const std::size_t layer_before = task / width * width - width;
        const std::size_t count = 1 + random(task, 1) % degree;
        for (std::size_t i = 0; i < count; ++i) all.push_back(layer_before + random(task, 2 + i) % width);
        std::ranges::sort(all);
        all.erase(std::ranges::unique(all).begin(), all.end());
        return all;
    }

    // What a task makes of the values of its predecessors.
    std::uint64_t value(std::size_t task, std::uint64_t of_predecessors) const {
        return mixed(of_predecessors + task, steps_of(task));
    }
};

class layered_graph {
public:
    explicit layered_graph(const layered_shape& shape)
        : shape_(shape)
        , nodes_(shape.size())
        , bytes_(shape.size() * shape.bytes) {}

    // BEGIN-EXAMPLE layered
    void add_to(weft::graph& dag) {
        std::vector<weft::graph_task> tasks;
        for (std::size_t t = 0; t < nodes_.size(); ++t) {
            nodes_[t].predecessors = shape_.predecessors(t);
            tasks.push_back(dag.add([this, t] { run(t); }, weft::name("layered")));
            for (std::size_t p : nodes_[t].predecessors) dag.order(tasks[p], tasks[t]);
        }
    }
    // END-EXAMPLE layered

    // Tasks that began before one that they wait for had ended, or that ran twice.
    std::size_t out_of_order() const { return out_of_order_.load(std::memory_order_relaxed); }
    std::size_t edges() const {
        std::size_t count = 0;
        for (const node& n : nodes_) count += n.predecessors.size();
        return count;
    }

    // Has each task run so often, and made what it makes of the values of its predecessors?
    bool is_right(std::uint32_t runs) const {
        std::vector<std::uint64_t> expected;
        for (std::size_t t = 0; t < nodes_.size(); ++t) {
            std::uint64_t sum = 0;
            for (std::size_t p : shape_.predecessors(t)) sum += expected[p];
            expected.push_back(shape_.value(t, sum));
            if (nodes_[t].value != expected[t]) return false;
            if (nodes_[t].runs.load(std::memory_order_relaxed) != runs) return false;
        }
        return out_of_order() == 0;
    }

private:
    struct node {
        std::vector<std::size_t> predecessors;
        std::uint64_t value = 0;
        std::atomic<std::uint32_t> runs = 0; // that have ended
    };

    void run(std::size_t t) {
        node& here = nodes_[t];
        const std::uint32_t runs = here.runs.load(std::memory_order_relaxed);
        std::uint64_t sum = 0;
        bool in_order = true;
        for (std::size_t p : here.predecessors) {
            // relaxed: it is the graph that has to make it visible
            in_order = in_order && nodes_[p].runs.load(std::memory_order_relaxed) == runs + 1;
            sum += nodes_[p].value;
            weft::touch(&nodes_[p].value, sizeof(std::uint64_t), weft::access::read);
            weft::touch(bytes_.data() + p * shape_.bytes, shape_.bytes, weft::access::read);
        }
        weft::touch(&here.value, sizeof(std::uint64_t), weft::access::write);
        weft::touch(bytes_.data() + t * shape_.bytes, shape_.bytes, weft::access::write);
        spend(shape_.steps_of(t), mix_cycles);
        here.value = shape_.value(t, sum);
        if (!in_order) out_of_order_.fetch_add(1, std::memory_order_relaxed);
        here.runs.store(runs + 1, std::memory_order_relaxed);
    }

    layered_shape shape_;
    std::vector<node> nodes_;
    std::vector<char> bytes_;
    std::atomic<std::size_t> out_of_order_ = 0;
};

} // namespace examples
