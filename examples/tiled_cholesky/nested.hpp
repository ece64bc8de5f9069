// The same factorisation in two levels: blocks of tiles are the data of few, large tasks, and each of these
// runs a graph of its own over the tiles.
//
//   M. Tillenius, E. Larsson, R. M. Badia, X. Martorell: Resource-aware task scheduling. ACM TECS 2015,
//   section 5.2.
//
// A task of a block may ask for workers of its own, so that what it starts is not mixed with what others
// start.
#pragma once

#include "tiled_cholesky.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace examples {

// Which task of a block each worker's small tasks belonged to, in the order in which it ran them.
class mixing_log {
public:
    explicit mixing_log(std::size_t workers) : of_(workers) {}

    // In a small task, of which a worker runs one at a time.
    void note(std::size_t parent) {
        worker& w = of_[static_cast<std::size_t>(weft::this_task::worker())];
        ++w.ran;
        if (w.last != parent) ++w.changes;
        w.last = parent;
    }
    // The part of the small tasks that came upon one of another parent, or were their worker's first.
    double mixed() const {
        std::size_t ran = 0, changes = 0;
        for (const worker& w : of_) {
            ran += w.ran;
            changes += w.changes;
        }
        return static_cast<double>(changes) / static_cast<double>(std::max<std::size_t>(ran, 1));
    }
    std::size_t ran() const {
        std::size_t sum = 0;
        for (const worker& w : of_) sum += w.ran;
        return sum;
    }

private:
    struct alignas(64) worker {
        std::size_t ran = 0, changes = 0, last = static_cast<std::size_t>(-1);
    };
    std::vector<worker> of_;
};

struct block_teams {
    int size = 0; // workers that the task of a block asks for; 0: it asks for none
    weft::within where = weft::within::machine;
    std::size_t open_ends = 0; // so many of the first and of the last of these tasks ask for none
};

// Adds a task for each step on a block.
class nested_cholesky {
public:
    nested_cholesky(const tiled_matrix& a, block_teams teams, const weft::graph_options& options,
                    mixing_log& log)
        : a_(a)
        , teams_(teams)
        , options_(options)
        , log_(log) {}

    // BEGIN-EXAMPLE nested_cholesky
    void add_to(weft::graph& dag) {
        const std::size_t blocks = a_.blocks();
        const tiled_way way{blocks};
        using weft::read, weft::readwrite, weft::name, weft::priority;
        for (std::size_t k = 0; k < blocks; ++k) {
            const tile_block kk(a_, k, k);
            add(
                dag, [=](auto& tasks) { add_cholesky(tasks, kk); }, readwrite(kk.datum()),
                name("potrf of a block"), priority(way.factor(k)));
            for (std::size_t i = k + 1; i < blocks; ++i) {
                const tile_block ik(a_, i, k);
                add(
                    dag, [=](auto& tasks) { add_solve_transposed(tasks, kk, ik); }, read(kk.datum()),
                    readwrite(ik.datum()), name("trsm of a block"), priority(way.solve(i, k)));
            }
            for (std::size_t i = k + 1; i < blocks; ++i) {
                const tile_block ik(a_, i, k), ii(a_, i, i);
                for (std::size_t j = k + 1; j < i; ++j) {
                    const tile_block jk(a_, j, k), ij(a_, i, j);
                    add(
                        dag, [=](auto& tasks) { add_subtract_product(tasks, ik, jk, ij); }, read(ik.datum()),
                        read(jk.datum()), readwrite(ij.datum()), name("gemm of a block"),
                        priority(way.subtract(i, j, k)));
                }
                add(
                    dag, [=](auto& tasks) { add_subtract_square(tasks, ik, ii); }, read(ik.datum()),
                    readwrite(ii.datum()), name("syrk of a block"), priority(way.subtract(i, i, k)));
            }
        }
    }
    // END-EXAMPLE nested_cholesky

    // Tasks that add_to() adds.
    std::size_t size() const {
        const std::size_t blocks = a_.blocks();
        return blocks * (blocks + 1) * (blocks + 2) / 6;
    }

private:
    // The graph inside of a task of a block.
    struct small_tasks {
        weft::graph dag;
        mixing_log& log;
        std::size_t parent;

        template <class F, class... Clauses>
        void add(F&& f, const Clauses&... clauses) {
            dag.add(
                [f = std::forward<F>(f), &log = log, parent = parent] {
                    log.note(parent);
                    f();
                },
                clauses...);
        }
    };

    template <class Steps, class... Clauses>
    void add(weft::graph& dag, Steps steps, const Clauses&... clauses) {
        const std::size_t number = added_++;
        const auto body = [this, number, steps] {
            small_tasks inner{weft::graph(options_), log_, number};
            steps(inner);
            inner.dag.run();
        };
        const bool is_open =
            teams_.size == 0 || number < teams_.open_ends || number + teams_.open_ends >= size();
        if (is_open)
            dag.add(body, clauses...);
        else
            dag.add(body, clauses..., weft::cores(teams_.size, teams_.where));
    }

    template <class Graph>
    static void add_solve_transposed(Graph& dag, const tile_block& l, const tile_block& b) {
        using weft::read, weft::readwrite, weft::name;
        for (std::size_t j = 0; j < b.columns(); ++j) {
            tile jj = l(j, j);
            for (std::size_t i = 0; i < b.rows(); ++i) {
                tile ij = b(i, j);
                for (std::size_t k = 0; k < j; ++k) {
                    tile ik = b(i, k), jk = l(j, k);
                    dag.add([=] { blas::subtract_product(ik, jk, ij, CblasTrans); }, read(ik.datum()),
                            read(jk.datum()), readwrite(ij.datum()), name("gemm"));
                }
                dag.add([=] { blas::solve_transposed(jj, ij); }, read(jj.datum()), readwrite(ij.datum()),
                        name("trsm"));
            }
        }
    }

    template <class Graph>
    static void add_subtract_product(Graph& dag, const tile_block& a, const tile_block& b,
                                     const tile_block& c) {
        for (std::size_t k = 0; k < a.columns(); ++k)
            for (std::size_t j = 0; j < c.columns(); ++j)
                for (std::size_t i = 0; i < c.rows(); ++i) add_subtract_one(dag, a(i, k), b(j, k), c(i, j));
    }

    template <class Graph>
    static void add_subtract_square(Graph& dag, const tile_block& a, const tile_block& c) {
        using weft::read, weft::readwrite, weft::name;
        for (std::size_t k = 0; k < a.columns(); ++k)
            for (std::size_t j = 0; j < c.columns(); ++j) {
                tile jk = a(j, k), jj = c(j, j);
                dag.add([=] { blas::subtract_square(jk, jj); }, read(jk.datum()), readwrite(jj.datum()),
                        name("syrk"));
                for (std::size_t i = j + 1; i < c.rows(); ++i) add_subtract_one(dag, a(i, k), jk, c(i, j));
            }
    }

    // C - A B^T
    template <class Graph>
    static void add_subtract_one(Graph& dag, tile a, tile b, tile c) {
        dag.add([=] { blas::subtract_product(a, b, c, CblasTrans); }, weft::read(a.datum()),
                weft::read(b.datum()), weft::readwrite(c.datum()), weft::name("gemm"));
    }

    const tiled_matrix& a_;
    const block_teams teams_;
    const weft::graph_options options_;
    mixing_log& log_;
    std::size_t added_ = 0;
};

} // namespace examples
