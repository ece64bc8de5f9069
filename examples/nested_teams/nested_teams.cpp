#include "nested_teams.hpp"

#include "../common/preempted_program.hpp"
#ifdef WEFT_EXAMPLE_OPENBLAS
#    include "../common/blas.hpp"
#endif

#include <map>
#include <string>

namespace {

enum class maker : std::uint8_t { plain, openblas };

// With --costs-only. A BLAS as fast as that of the machine of the source: 16 operations a cycle, for vectors of 8 numbers at
// 0.68 of the clock, which has 21.8 at most. An assumption; programs are compared with each other.
struct declared_kernels {
    using tile = examples::tile;
    static constexpr double cycles_of_operation = 1.0 / 16;
    static void subtract_product(const tile& a, const tile&, const tile& c) {
        examples::spend(2 * c.rows * c.cols * a.cols, cycles_of_operation);
    }
    static void subtract_square(const tile& a, const tile& c) {
        examples::spend(c.rows * (c.rows + 1) * a.cols, cycles_of_operation);
    }
    static void solve_transposed(const tile&, const tile& b) {
        examples::spend(b.rows * b.cols * b.cols, cycles_of_operation);
    }
    static void potrf(const tile& a) { examples::spend(a.rows * a.rows * a.rows / 3, cycles_of_operation); }
};

#ifdef WEFT_EXAMPLE_OPENBLAS
// Each thread of a team calls OpenBLAS for its rows, which has locks of its own.
struct openblas_kernels {
    using tile = examples::tile;
    static void subtract_product(const tile& a, const tile& b, const tile& c) {
        examples::blas::subtract_product(a, b, c, CblasTrans);
    }
    static void subtract_square(const tile& a, const tile& c) { examples::blas::subtract_square(a, c); }
    static void solve_transposed(const tile& l, const tile& b) { examples::blas::solve_transposed(l, b); }
    static void potrf(const tile& a) { examples::blas::potrf(a); }
};
#endif

} // namespace

int main(int argc, char** argv) {
    std::size_t n = 1024, side = 128;
    examples::nested_team_settings s;
    maker kernels = maker::plain;
    examples::preempted_program program(
        "Cholesky factorisation by tiles, each step by a team of threads that wait for each other in loops.",
        "nested_teams --n 4096 --tile 256 --inner 8 --preempt klt:interval=10ms");
    examples::add_tile_options(program, n, side);
    program.options()
        .add_option("--inner", s.inner, "threads of the team of each task")
        ->check(CLI::Range(1U, 1024U))
        ->capture_default_str();
    program.options()
        .add_option("--outer", s.outer, "tasks that compute at a time; 0: as many as are ready")
        ->check(CLI::Range(0U, 1024U))
        ->capture_default_str();
    program.options()
        .add_option("--start", s.start,
                    "in virtual time: cycles that starting a member of a team takes, as in a runtime of "
                    "kernel threads")
        ->check(CLI::Range(0U, 1000000000U))
        ->capture_default_str();
    program.add_costs_only();
    std::map<std::string, maker> known = {{"plain", maker::plain}};
#ifdef WEFT_EXAMPLE_OPENBLAS
    known["openblas"] = maker::openblas;
#endif
    program.options()
        .add_option("--kernels", kernels, "plain (loops), openblas (if this program was built with it)")
        ->transform(CLI::CheckedTransformer(known))
        ->default_str("plain");

    return program.main(argc, argv, [&] {
        s.how = program.barrier();
        s.type = program.type();
        examples::tiled_matrix a(n, side);
        auto rt = program.make_runtime();
        std::size_t tasks = 0;
        const auto size = static_cast<double>(n);
        examples::report report;
        if (program.costs_only()) {
            rt.run([&] { tasks = examples::factor_by_nested_teams<declared_kernels>(a, s); });
            report.add("graph tasks", tasks);
            report.add("gflops", size * size * size / 3 / rt.stats().seconds / 1e9);
            return report.print_costs(rt.stats(), program.json());
        }
        rt.run([&] { examples::tiled_spd_fill(a, program.seed()); });
#ifdef WEFT_EXAMPLE_OPENBLAS
        examples::blas_in_calling_thread();
        if (kernels == maker::openblas)
            rt.run([&] { tasks = examples::factor_by_nested_teams<openblas_kernels>(a, s); });
        else
#endif
            rt.run([&] { tasks = examples::factor_by_nested_teams<examples::plain_kernels>(a, s); });
        const auto stats = rt.stats();
        const double residual = examples::tiled_cholesky_residual(a, program.seed());
        bool same = true;
        if (kernels == maker::plain) {
            examples::tiled_matrix serial(n, side);
            rt.run([&] { examples::tiled_spd_fill(serial, program.seed()); });
            examples::factor_serially<examples::plain_kernels>(serial);
            same = examples::same_bits(a, serial);
        }

        report.add("n", n);
        report.add("graph tasks", tasks);
        report.add("inner", s.inner);
        report.add("preempt", program.preempt());
        report.add("residual", residual);
        if (kernels == maker::plain) report.add("serial bits", same);
        report.add("gflops", size * size * size / 3 / stats.seconds / 1e9);
        report.add_stats(stats);
        report.print(program.json());
        return residual < 1e-15 + 1e-16 * size && same;
    });
}
