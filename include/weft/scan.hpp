#pragma once

#include <weft/concepts.hpp>
#include <weft/impl/scan_blocks.hpp>
#include <weft/parallel.hpp>

#include <cstddef>
#include <iterator>

namespace weft {

/// Inclusive scan: out[i] becomes op(...op(op(identity, first[0]), first[1])..., first[i]). Returns the end
/// of the output, like std::inclusive_scan; the total is the element before it. `out` may be `first`;
/// otherwise the output must not overlap the input.
///
/// `op` must be associative, and need not be commutative; combining a value with `identity` must not change
/// the value. Several threads call it at the same time, as op(T, element) and op(T, T), where T is the type
/// of `identity`. If `op` is not associative to the last bit, as for floating-point numbers, the result is
/// still the same for every number of workers, every policy and every run: it depends only on the blocks,
/// which follow from the length and o.grain (elements per block; by default there are at most 1024 blocks).
/// An exception of `op` is rethrown when all calls have ended; the contents of `out` are then unspecified.
///
/// There are at most two calls of `op` per element: one for its place and one for the total of its block.
/// Blocks that no other worker took are done in one pass. If `out` holds elements of type T that are not
/// trivially copyable, they are not copied: `op` gets the preceding T as const. A range of one block is
/// scanned by the caller. In a thread that is no worker, a longer range is scanned in the default runtime.
///
/// Sources: Blelloch 1990 (blocks); Roch, Traore, Bernard 2006 (the second pass only where an idle worker
/// came).
template <std::random_access_iterator I, std::random_access_iterator Out, class T, class Op>
    requires Combination<Op, T, std::add_const_t<std::iter_value_t<I>>&> && Combination<Op, T, const T&>
Out parallel_scan(I first, I last, Out out, T identity, Op&& op, const loop_options& o = {}) {
    if (!(first < last)) return out;
    const std::ptrdiff_t n = last - first;
    impl::scan_blocks<I, Out, T, std::remove_reference_t<Op>>(first, n, out, identity, op, o).run();
    return out + n;
}

/// @cond
template <std::random_access_iterator I, std::random_access_iterator Out, class T, class Op>
    requires(!(Combination<Op, T, std::add_const_t<std::iter_value_t<I>>&> && Combination<Op, T, const T&>))
impl::not_a::Combination parallel_scan(I, I, Out, T, Op&&, const loop_options& = {})
    WEFT_REJECTED("Combination: op is called with a T and an element, and with two T, and returns a T");
/// @endcond

} // namespace weft
