// weft::graph. What a task waits for is said by lvalues, by weft::datum or by the tasks:
//   keys=objects|data|after
#include "program.hpp"

#include "../common/runtimes.hpp"

#include <bit>
#include <memory>
#include <string>
#include <vector>

namespace {

template <class Data, class Body>
void add(weft::graph& to, Data& data, dag::number at, const std::array<dag::number, 2>& before, Body&& body) {
    to.add(body, weft::read(data[before[0]]), weft::read(data[before[1]]), weft::write(data[at]));
}
template <class Data, class Body>
void add(weft::graph& to, Data& data, dag::number at, const std::array<dag::number, 3>& before, Body&& body) {
    to.add(body, weft::read(data[before[0]]), weft::read(data[before[1]]), weft::read(data[before[2]]),
           weft::write(data[at]));
}

/// The tasks of the last two rows, as data that are read and written.
class last_tasks {
public:
    explicit last_tasks(dag::number n) : tasks_(std::bit_ceil(std::size_t{2} * n)) {}

    template <class Body, std::size_t... I>
    void add(weft::graph& to, dag::number at, const std::array<dag::number, sizeof...(I)>& before,
             Body&& body, std::index_sequence<I...>) {
        const auto task = [&](dag::number p) { return p == at ? weft::graph_task() : place(p); };
        place(at) = to.add(body, weft::after(task(before[I])...));
    }

private:
    weft::graph_task& place(dag::number at) { return tasks_[at & (tasks_.size() - 1)]; }

    std::vector<weft::graph_task> tasks_;
};

class runtime {
public:
    struct graph {
        std::unique_ptr<weft::graph> tasks;
        std::vector<std::uint32_t> objects;
        std::unique_ptr<weft::datum[]> data;
    };

    runtime(const bench::arguments& given, int workers)
        : keys_(given.text("keys", "objects"))
        , rt_(bench::with_workers(workers)) {
        if (keys_ != "objects" && keys_ != "data" && keys_ != "after")
            throw bench::usage_error("keys=" + keys_ + "; allowed: objects data after");
    }

    template <class Shape, class Tasks>
    void build_and_run(graph& g, const Shape& shape, Tasks& tasks) {
        rt_.run([&] {
            g.tasks = std::make_unique<weft::graph>();
            build(g, shape, tasks);
            g.tasks->run();
        });
    }
    void run_again(graph& g) {
        rt_.run([&] { g.tasks->run(); });
    }

private:
    template <class Shape, class Tasks>
    void build(graph& g, const Shape& shape, Tasks& tasks) {
        const auto each = [&](auto& data) {
            dag::each_task(shape, [&](dag::number at, const auto& before) {
                add(*g.tasks, data, at, before, tasks.body(at));
            });
        };
        if (keys_ == "objects") {
            g.objects.resize(dag::size(shape));
            each(g.objects);
        } else if (keys_ == "data") {
            g.data = std::make_unique<weft::datum[]>(dag::size(shape));
            each(g.data);
        } else {
            last_tasks last(shape.n);
            dag::each_task(shape, [&](dag::number at, const auto& before) {
                last.add(*g.tasks, at, before, tasks.body(at),
                         std::make_index_sequence<std::tuple_size_v<std::decay_t<decltype(before)>>>());
            });
        }
    }

    std::string keys_;
    weft::runtime rt_;
};

} // namespace

int main(int argc, char** argv) { return dag::program<runtime>(argc, argv); }
