// Queens on a board: serial recursion against a task_group in each node of the upper rows, one and two
// workers.
//   n=13 task_rows=5
#include <nqueens/nqueens.hpp>

#include "serial_one_two.hpp"

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const auto n = static_cast<unsigned>(given.number("n", 13));
        const int rows = given.number("task_rows", 5);
        bench::serial_one_two(
            s, examples::nqueens_solutions[n], [&] { return examples::nqueens_serial({n}); },
            [&](weft::runtime& rt) { return rt.run([&] { return examples::nqueens({n}, rows); }); });
    });
}
