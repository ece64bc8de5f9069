#pragma once

#include <weft/block.hpp>
#include <weft/concepts.hpp>
#include <weft/impl/block_loop.hpp>
#include <weft/parallel.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

/// Loops over two and three indices.
namespace weft {

/// Calls `range(piece)` for blocks that together are `all`, which range2d() or range3d() returns. A piece is a block, too:
/// `for (auto i = piece.begin(0); i < piece.end(0); ++i) for (auto j = piece.begin(1); ...`. In all other respects like
/// the loop over one index; loop_options::grain is the largest number of cells of a piece.
template <class I, std::size_t N, class Range>
    requires PieceBody<Range, const block<I, N>&>
void parallel_for_range(const block<I, N>& all, Range&& range, const loop_options& o = {}) {
    if (all.empty()) return;
    if (!all.is_countable()) impl::refuse_length();
    impl::on_worker(o, [&] {
        const impl::loop_shape shape = impl::shape_of_loop();
        if (shape.fixed)
            return impl::fixed_block_loop<I, N, std::remove_reference_t<Range>>{all, o, range}.run(shape);
        static constinit impl::iteration_cost cost{0}; // one for each loop in the program's source
        const impl::loop_hints hints(o);
        impl::learnt_grain grain(impl::given_grain(all, o), all.size(), cost, hints);
        impl::loop_over_blocks(all, grain, range);
    });
}

/// Calls `body(i, j)`, or `body(i, j, k)`, for each cell of `all`, the last index fastest within a piece.
template <class I, std::size_t N, class Body>
    requires impl::CellBody<Body, I, N>
void parallel_for(const block<I, N>& all, Body&& body, const loop_options& o = {}) {
    parallel_for_range(all, [&body](const block<I, N>& piece) { impl::each_cell(piece, body); }, o);
}

/// Returns the combination of map(i, j), or map(i, j, k), of all cells with `identity`, over a fixed tree of blocks: as in
/// the reduction over one index, the result depends only on the sides, the grains and the bounds. `combine` must be
/// associative and commutative, since the cells are not combined row by row.
template <class I, std::size_t N, class T, class Map, class Combine>
    requires impl::CellMapping<Map, I, N> && Combination<Combine, T, impl::mapped_cell<Map, I, N>> &&
             Combination<Combine, T>
T parallel_reduce(const block<I, N>& all, T identity, Map&& map, Combine&& combine,
                  const loop_options& o = {}) {
    if (all.empty()) return identity;
    if (!all.is_countable()) impl::refuse_length();
    constexpr std::ptrdiff_t leaves = 1024;
    const std::ptrdiff_t given = impl::given_grain(all, o);
    const std::ptrdiff_t grain = given ? given : (all.size() - 1) / leaves + 1;
    const impl::loop_hints hints(o);
    T result = identity;
    impl::on_worker(o, [&] {
        const auto over = [&](const auto& self, const block<I, N>& b) -> T {
            if (b.size() <= grain && b.fits()) {
                T sum = identity;
                impl::each_cell(b, [&](const auto&... i) { sum = combine(std::move(sum), map(i...)); });
                return sum;
            }
            const auto [a, z] = b.halves();
            auto [left, right] =
                impl::join_hinted(hints.get(), [&] { return self(self, a); }, [&] { return self(self, z); });
            return combine(std::move(left), std::move(right));
        };
        result = over(over, all);
    });
    return result;
}

/// @cond
template <class I, std::size_t N, class Range>
    requires(!PieceBody<Range, const block<I, N>&>)
impl::not_a::PieceBody parallel_for_range(const block<I, N>&, Range&&, const loop_options& = {})
    WEFT_REJECTED("PieceBody: the body is called with a block");
template <class I, std::size_t N, class Body>
    requires(!impl::CellBody<Body, I, N>)
impl::not_a::LoopBody parallel_for(const block<I, N>&, Body&&, const loop_options& = {})
    WEFT_REJECTED("LoopBody: the body is called with one index for each dimension");
template <class I, std::size_t N, class T, class Map, class Combine>
    requires(!impl::CellMapping<Map, I, N>)
impl::not_a::Mapping parallel_reduce(const block<I, N>&, T, Map&&, Combine&&, const loop_options& = {})
    WEFT_REJECTED("Mapping: map is called with one index for each dimension, and returns a value");
template <class I, std::size_t N, class T, class Map, class Combine>
    requires impl::CellMapping<Map, I, N> &&
             (!Combination<Combine, T, impl::mapped_cell<Map, I, N>> || !Combination<Combine, T>)
impl::not_a::Combination parallel_reduce(const block<I, N>&, T, Map&&, Combine&&, const loop_options& = {})
    WEFT_REJECTED(
        "Combination: combine is called with a T and what map returns, and with two T, and returns a T");
/// @endcond

} // namespace weft
