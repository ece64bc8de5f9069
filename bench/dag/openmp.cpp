// OpenMP's `task depend`, for libgomp (built by GCC) and libomp (built by Clang). Tasks may run while others
// are still being made. A graph serves once: its tasks are gone when they have run.
#include "program.hpp"

#include <omp.h>

#include <vector>

namespace {

// Only the addresses matter; no task reads or writes there.
template <class Body>
void add(char* data, dag::number at, const std::array<dag::number, 2>& before, Body body) {
#pragma omp task firstprivate(body) depend(in : data[before[0]], data[before[1]]) depend(out : data[at])
    body();
}
template <class Body>
void add(char* data, dag::number at, const std::array<dag::number, 3>& before, Body body) {
#pragma omp task firstprivate(body) depend(in : data[before[0]], data[before[1]], data[before[2]])           \
    depend(out : data[at])
    body();
}

class runtime {
public:
    struct graph {};

    runtime(const bench::arguments&, int workers) {
        omp_set_dynamic(0);
        omp_set_num_threads(workers);
    }

    template <class Shape, class Tasks>
    void build_and_run(graph&, const Shape& shape, Tasks& tasks) {
        std::vector<char> data(dag::size(shape));
#pragma omp parallel
#pragma omp single
        dag::each_task(
            shape, [&](dag::number at, const auto& before) { add(data.data(), at, before, tasks.body(at)); });
    }
};

} // namespace

int main(int argc, char** argv) { return dag::program<runtime>(argc, argv); }
