#pragma once

#include <weft/block.hpp>
#include <weft/concepts.hpp>
#include <weft/join.hpp>
#include <weft/parallel.hpp>
#include <weft/task_group.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace weft::impl {

template <class F, class I, std::size_t N>
concept CellBody =
    (N == 2 && LoopBody<F, const I&, const I&>) || (N == 3 && LoopBody<F, const I&, const I&, const I&>);
template <class F, class I, std::size_t N>
concept CellMapping =
    (N == 2 && Mapping<F, const I&, const I&>) || (N == 3 && Mapping<F, const I&, const I&, const I&>);
template <class F, class I, std::size_t N>
struct result_of_cell : std::invoke_result<std::remove_reference_t<F>&, const I&, const I&, const I&> {};
template <class F, class I>
struct result_of_cell<F, I, 2> : std::invoke_result<std::remove_reference_t<F>&, const I&, const I&> {};
template <class F, class I, std::size_t N>
using mapped_cell = typename result_of_cell<F, I, N>::type;

template <class I, std::size_t N, class Body>
void each_cell(const block<I, N>& b, Body&& body) {
    static_assert(N == 2 || N == 3);
    for (I i = b.begin(0); i < b.end(0); ++i)
        for (I j = b.begin(1); j < b.end(1); ++j)
            if constexpr (N == 2)
                body(std::as_const(i), std::as_const(j));
            else
                for (I k = b.begin(2); k < b.end(2); ++k)
                    body(std::as_const(i), std::as_const(j), std::as_const(k));
}

/// The most cells of a piece, by the grains of the block or the options; 0: none are given.
template <class I, std::size_t N>
std::ptrdiff_t given_grain(const block<I, N>& all, const loop_options& o) noexcept {
    if (o.grain > 0) return grain_of(o);
    for (std::size_t d = 0; d < N; ++d)
        if (all.grain(d) > 0) return all.size(); // block::fits() decides
    return 0;
}

/// Cuts the block by lazy joins down to the grain, like loop_over().
template <class I, std::size_t N, class Range>
void loop_over_blocks(block<I, N> b, learnt_grain& grain, Range& range) {
    while (b.fits() && b.size() <= grain.get()) {
        const std::ptrdiff_t cells = b.size();
        const std::ptrdiff_t done = grain.run(
            0, cells, [&](std::ptrdiff_t from, std::ptrdiff_t to) { range(b.cells(from, to)); }, b.unit());
        if (done == cells) return;
        b = b.cells(done, cells);
    }
    const auto [first, second] = b.halves();
    join_hinted(
        grain.hints(), [&] { loop_over_blocks(first, grain, range); },
        [&] { loop_over_blocks(second, grain, range); });
}

/// Like fixed_loop.
template <class I, std::size_t N, class Range>
struct fixed_block_loop {
    const block<I, N>& all;
    const loop_options& options;
    Range& range;

    hints hints_of(const block<I, N>& b) const {
        const double part = static_cast<double>(b.size()) / static_cast<double>(all.size());
        return {.work = options.work * part,
                .bytes = static_cast<std::size_t>(static_cast<double>(options.bytes) * part),
                .name = options.name};
    }
    /// `grain`: the most cells of a piece.
    void add_pieces(task_group& pieces, const block<I, N>& b, std::ptrdiff_t count,
                    std::ptrdiff_t grain) const {
        if (b.size() == 1 || (count <= 1 && b.size() <= grain && b.fits()))
            return pieces.run([this, b] { range(b); }, hints_of(b));
        const std::ptrdiff_t left = std::max<std::ptrdiff_t>(count / 2, 1);
        const std::ptrdiff_t right = std::max<std::ptrdiff_t>(count - left, 1);
        const auto [first, second] = b.parts({left, right});
        add_pieces(pieces, first, left, grain);
        add_pieces(pieces, second, right, grain);
    }
    void in_halves(const block<I, N>& b, std::ptrdiff_t grain) const {
        if (b.size() == 1 || (b.size() <= grain && b.fits())) return range(b);
        const auto halves = b.halves();
        join([&, this] { in_halves(halves.first, grain); }, [&, this] { in_halves(halves.second, grain); },
             {hints_of(halves.first), hints_of(halves.second)});
    }
    void run(loop_shape shape) const {
        const std::ptrdiff_t n = all.size(), grain = given_grain(all, options);
        if (shape.pieces > 0) {
            const std::ptrdiff_t by_grain = grain > 0 ? (n - 1) / grain + 1 : 1;
            task_group pieces(hints_of(all));
            add_pieces(pieces, all, std::min(std::max<std::ptrdiff_t>(shape.pieces, by_grain), n),
                       grain > 0 ? grain : n);
            return pieces.wait();
        }
        constexpr std::ptrdiff_t pieces_a_worker = 16;
        in_halves(all,
                  grain > 0 ? grain : std::max<std::ptrdiff_t>(1, n / (pieces_a_worker * shape.workers)));
    }
};

} // namespace weft::impl
