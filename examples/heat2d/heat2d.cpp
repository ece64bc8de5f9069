#include "heat2d.hpp"
#include "squares.hpp"

#include "../common/example.hpp"

#include <algorithm>

namespace {

struct settings {
    std::size_t rows = 2048, cols = 1024, sweeps = 200, leaf_rows = 32;
    bool irregular = false, squares = false, interleave = false;
    examples::squares_settings division{};

    // A wave short enough to fade visibly within the default number of sweeps.
    examples::heat_mode mode() const {
        return {std::max<std::size_t>(1, rows / 32), std::max<std::size_t>(1, cols / 32)};
    }
};

examples::report begun_report(const settings& s) {
    examples::report report;
    report.add("rows", s.rows);
    report.add("cols", s.cols);
    report.add("sweeps", s.sweeps);
    return report;
}

bool report(const examples::program& program, const settings& s, const weft::run_stats& stats, bool same,
            double error, double error_allowed) {
    examples::report report = begun_report(s);
    report.add("same as serial", same);
    report.add("largest error", error);
    report.add_stats(stats);
    report.print(program.json());
    return same && error < error_allowed;
}

template <class Grid>
void place(const settings& s, const Grid& a, const Grid& b) {
    if (!s.interleave) return; // otherwise on the node of the first writer
    weft::interleave(a.row(0), a.bytes());
    weft::interleave(b.row(0), b.bytes());
}

bool by_rows(const examples::program& program, const settings& s) {
    const examples::heat_mode mode = s.mode();
    examples::grid a(s.rows, s.cols), b(s.rows, s.cols);
    const auto tree = s.irregular ? examples::task_tree::irregular : examples::task_tree::regular;
    auto rt = program.make_runtime();
    rt.run([&] {
        place(s, a, b);
        weft::initialisation();
        examples::heat_start(a, b, mode, s.leaf_rows, tree);
    });
    rt.run([&] { examples::heat(a, b, s.sweeps, s.leaf_rows, tree); });
    const auto stats = rt.stats();
    if (program.costs_only()) return begun_report(s).print_costs(stats, program.json());

    examples::grid c(s.rows, s.cols), d(s.rows, s.cols);
    examples::heat_start(c, d, mode, s.rows);
    examples::heat_serial(c, d, s.sweeps);
    const examples::grid& result = s.sweeps % 2 == 0 ? a : b;
    const bool same = examples::same_values(result, s.sweeps % 2 == 0 ? c : d);
    return report(program, s, stats, same, examples::heat_error(result, mode, s.sweeps), 1e-10);
}

bool by_squares(const examples::program& program, const settings& s) {
    const examples::heat_mode mode = s.mode();
    examples::plate a(s.rows, s.cols), b(s.rows, s.cols);
    auto rt = program.make_runtime();
    rt.run([&] {
        place(s, a, b);
        weft::initialisation();
        examples::squares_start(a, b, mode, s.division);
    });
    rt.run([&] { examples::squares(a, b, s.sweeps, s.division); });
    const auto stats = rt.stats();
    if (program.costs_only()) return begun_report(s).print_costs(stats, program.json());

    examples::plate c(s.rows, s.cols), d(s.rows, s.cols);
    examples::heat_start_square{c, d, mode}.leaf(examples::whole(c));
    examples::squares_serial(c, d, s.sweeps);
    const examples::plate& result = s.sweeps % 2 == 0 ? a : b;
    const bool same = examples::same_values(result, s.sweeps % 2 == 0 ? c : d);
    return report(program, s, stats, same, examples::heat_error(result, mode, s.sweeps), 1e-5);
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    examples::program program("Heat on a plate: 5-point Jacobi by recursive division of the rows.",
                              "heat2d --rows 4096 --cols 4096 --sweeps 100 --policy near");
    auto& options = program.options();
    const CLI::Range size(1U, 1U << 20);
    options.add_option("--rows", s.rows, "inner rows")->check(size)->capture_default_str();
    options.add_option("--cols", s.cols, "inner columns")->check(size)->capture_default_str();
    options.add_option("--sweeps", s.sweeps, "iterations")
        ->check(CLI::Range(0U, 1U << 20))
        ->capture_default_str();
    auto* leaf =
        options.add_option("--leaf-rows", s.leaf_rows, "rows of a strip that is not divided further");
    leaf->check(size)->capture_default_str();
    auto* tree = options.add_flag("--irregular", s.irregular, examples::irregular_help);
    options.add_flag("--interleave", s.interleave,
                     "memory from all nodes in turn; otherwise from that of the first writer");
    auto* squares =
        options.add_flag("--squares", s.squares, "single precision, divided into squares instead of strips");
    squares->excludes(leaf)->excludes(tree);
    options
        .add_option("--leaf-side", s.division.leaf_side, "rows and columns of a square that is not divided")
        ->check(size)
        ->needs(squares)
        ->capture_default_str();
    const CLI::Range error(0.0, 1.0);
    auto* wrong = options.add_option("--hint-error", s.division.errors.size,
                                     "A: the quarters' hints of work are 1-A : 1-A/2 : 1+A/2 : 1+A");
    wrong->check(error)->needs(squares);
    auto* random = options.add_option("--random-hints", s.division.errors.size,
                                      "A: the hints of work are 1 +- A, drawn anew in each sweep");
    random->check(error)->needs(squares)->excludes(wrong);
    options.add_flag("--loops", s.division.loops, "the squares' plate by a parallel loop over its rows")
        ->needs(squares);

    program.add_costs_only();

    return program.main(argc, argv, [&] {
        s.division.errors.random = random->count() > 0;
        s.division.errors.seed = program.seed();
        return s.squares ? by_squares(program, s) : by_rows(program, s);
    });
}
