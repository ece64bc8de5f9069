// Cholesky factorisation of a dense matrix in two levels: a graph of tasks over tiles, and within each task a team of
// threads that wait for each other in loops. So do programs whose parallel tasks call a parallel BLAS:
//
//   S. Shiina: Efficient Thread Scheduling Strategies for Nested Parallel Programs. 2021, section 3.3.2.
//
// `outer` tasks at a time with teams of `inner` threads are at a deadlock's mercy if outer * (inner - 1) is at least the
// number of workers, and surely hang if `inner` alone is larger: the members that run wait for one that gets no worker.
// Preemption lets it run.
#pragma once

#include "../common/spd_tiles.hpp"
#include "../common/team.hpp"
#include "../common/tiles.hpp"
#include "kernels.hpp"

#include <weft/weft.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace examples {

struct nested_team_settings {
    std::size_t inner = 4; // members of the team of each task
    std::size_t outer = 0; // tasks at a time; 0: as many as are ready
    meeting how = meeting::spin;
    weft::preemption type = weft::preemption::klt;
    std::uint64_t start = 0; // cycles that a task spends for each member of its team, on a modelled machine
};

template <class Kernels>
class nested_teams {
public:
    nested_teams(const tiled_matrix& a, const nested_team_settings& s)
        : a_(a)
        , settings_(s)
        , free_(static_cast<std::ptrdiff_t>(s.outer)) {}

    // BEGIN-EXAMPLE nested_teams
    void add_to(weft::graph& dag) const {
        using kernels = team_kernels<Kernels>;
        using weft::read, weft::readwrite, weft::name, weft::priority;
        const std::size_t tiles = a_.tiles();
        const tiled_way way{tiles};
        for (std::size_t k = 0; k < tiles; ++k) {
            const tile kk = a_(k, k);
            dag.add([=, this] { by_team([=](const auto& me) { kernels::potrf(me, kk); }); },
                    readwrite(kk.datum()), name("potrf"), priority(way.factor(k)));
            for (std::size_t i = k + 1; i < tiles; ++i) {
                const tile ik = a_(i, k);
                dag.add(
                    [=, this] { by_team([=](const auto& me) { kernels::solve_transposed(me, kk, ik); }); },
                    read(kk.datum()), readwrite(ik.datum()), name("trsm"), priority(way.solve(i, k)));
            }
            for (std::size_t i = k + 1; i < tiles; ++i) {
                const tile ik = a_(i, k), ii = a_(i, i);
                for (std::size_t j = k + 1; j < i; ++j) {
                    const tile jk = a_(j, k), ij = a_(i, j);
                    dag.add(
                        [=, this] {
                            by_team([=](const auto& me) { kernels::subtract_product(me, ik, jk, ij); });
                        },
                        read(ik.datum()), read(jk.datum()), readwrite(ij.datum()), name("gemm"),
                        priority(way.subtract(i, j, k)));
                }
                dag.add([=, this] { by_team([=](const auto& me) { kernels::subtract_square(me, ik, ii); }); },
                        read(ik.datum()), readwrite(ii.datum()), name("syrk"),
                        priority(way.subtract(i, i, k)));
            }
        }
    }

private:
    template <class Step>
    void by_team(const Step& step) const {
        if (settings_.outer > 0) free_.acquire();
        if (settings_.start > 0) weft::cost(settings_.start * (settings_.inner - 1));
        run_team(settings_.inner, settings_.how, settings_.type, step);
        if (settings_.outer > 0) free_.release();
    }
    // END-EXAMPLE nested_teams

    const tiled_matrix& a_;
    const nested_team_settings settings_;
    mutable weft::counting_semaphore<> free_;
};

// Factors `a` in the runtime of the caller, a task. Returns the number of tasks.
template <class Kernels>
std::size_t factor_by_nested_teams(const tiled_matrix& a, const nested_team_settings& s) {
    const nested_teams<Kernels> all(a, s);
    std::unique_ptr<weft::graph> dag;
    {
        const while_allocating here(s.type);
        dag = std::make_unique<weft::graph>();
        all.add_to(*dag);
    }
    dag->run();
    const while_allocating here(s.type);
    const std::size_t tasks = dag->size();
    dag.reset();
    return tasks;
}

// By the calling thread alone.
template <class Kernels>
void factor_serially(const tiled_matrix& a) {
    using kernels = team_kernels<Kernels>;
    team_barrier alone(1, meeting::spin);
    const team_member me{0, 1, alone};
    for (std::size_t k = 0; k < a.tiles(); ++k) {
        kernels::potrf(me, a(k, k));
        for (std::size_t i = k + 1; i < a.tiles(); ++i) kernels::solve_transposed(me, a(k, k), a(i, k));
        for (std::size_t i = k + 1; i < a.tiles(); ++i) {
            for (std::size_t j = k + 1; j < i; ++j) kernels::subtract_product(me, a(i, k), a(j, k), a(i, j));
            kernels::subtract_square(me, a(i, k), a(i, i));
        }
    }
}

// Of the lower triangles of two matrices with the same tiles.
inline bool same_bits(const tiled_matrix& a, const tiled_matrix& b) {
    std::vector<double> of_a, of_b;
    for_each_number(a, [&](std::size_t i, std::size_t j, double x) { i >= j ? of_a.push_back(x) : void(); });
    for_each_number(b, [&](std::size_t i, std::size_t j, double x) { i >= j ? of_b.push_back(x) : void(); });
    return of_a == of_b;
}

} // namespace examples
