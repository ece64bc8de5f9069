// A Cholesky factorisation by tiles with teams of threads inside of its tasks (examples/nested_teams): times over those of the
// same tasks without teams, in turns. `yielding`: barriers that let others run, without preemption; `preempted`: barriers that
// spin, and klt.
//   n=512 tile=128 inner=4 interval_us=1000 rounds=7
//
//   S. Shiina: Efficient Thread Scheduling Strategies for Nested Parallel Programs. 2021, section 3.3.2.
#include "../../examples/nested_teams/nested_teams.hpp"

#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <cstddef>
#include <string>
#include <vector>

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const auto n = static_cast<std::size_t>(given.number("n", 512)),
                   side = static_cast<std::size_t>(given.number("tile", 128)),
                   inner = static_cast<std::size_t>(given.number("inner", 4));
        weft::runtime_options o = bench::with_workers(2), preempting = o;
        preempting.preempt = "klt:interval=" + given.text("interval_us", "1000") + "us";
        weft::runtime cooperative(o), preemptive(preempting);
        examples::tiled_matrix serial(n, side);
        examples::tiled_spd_fill(serial, 1);
        examples::factor_serially<examples::plain_kernels>(serial);
        const auto factor = [&](weft::runtime& rt, const examples::nested_team_settings& how) {
            examples::tiled_matrix a(n, side);
            rt.run([&] { examples::tiled_spd_fill(a, 1); });
            const double ns = bench::time_ns(
                [&] { rt.run([&] { examples::factor_by_nested_teams<examples::plain_kernels>(a, how); }); });
            s.check(examples::same_bits(a, serial));
            bench::wait_until_quiet();
            return ns;
        };
        s.with_both_cores([&] {
            std::vector<double> yielding, preempted;
            for (int r = 0; r < given.number("rounds", 7); ++r) {
                using weft::preemption, examples::meeting;
                const double flat =
                    factor(cooperative, {.inner = 1, .how = meeting::spin, .type = preemption::off});
                yielding.push_back(
                    factor(cooperative, {.inner = inner, .how = meeting::yield, .type = preemption::off}) /
                    flat);
                preempted.push_back(
                    factor(preemptive, {.inner = inner, .how = meeting::spin, .type = preemption::klt}) /
                    flat);
            }
            s.add("yielding", yielding);
            s.add("preempted", preempted);
        });
    });
}
