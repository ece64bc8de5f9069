// The unbalanced tree T1: serial recursion against a join for every two children, one and two workers.
#include <uts/uts.hpp>

#include "serial_one_two.hpp"

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments&, bench::sample& s) {
        const auto root = examples::uts_node::root(examples::uts_t1.seed);
        bench::serial_one_two(
            s, examples::uts_t1_totals, [&] { return examples::uts_serial(examples::uts_t1, root); },
            [&](weft::runtime& rt) {
                return rt.run(
                    [&](weft::context here) { return examples::uts_search(here, examples::uts_t1, root); });
            });
    });
}
