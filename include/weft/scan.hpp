#pragma once

#include <weft/impl/scan_blocks.hpp>
#include <weft/parallel.hpp>

#include <cstddef>
#include <iterator>

namespace weft {

/// Inclusive scan: out[i] becomes op(...op(op(identity, first[0]), first[1])..., first[i]). Returns the end
/// of what was written, as std::inclusive_scan does; the total is the element before it. `out` may be
/// `first`, and must not overlap the range otherwise.
///
/// `op` is associative, not necessarily commutative, and does not change what `identity` is combined with. It
/// is called as op(T, element) and op(T, T) with T the type of `identity`, by several threads at the same
/// time. Where it is not associative to the last bit, as for floating-point numbers, the result is still the
/// same for every number of workers, every policy and every run: it depends on the blocks, which follow from
/// the length and o.grain (the length of a block; at most 1024 blocks otherwise) alone. An exception of `op`
/// is rethrown when nothing runs any more; what of `out` was written then is not said.
///
/// At most two calls of `op` an element: one for its place, one for the total of its block, and both are made
/// in one pass over what nobody else took. A type that is not trivial to copy is not copied if `out` holds
/// elements of T: `op` then gets the T before it as const. A range of one block is scanned at once; in a
/// thread that is no worker a longer one is scanned in the default runtime.
///
/// Blelloch 1990 (blocks), with the pass that an idle worker needs made only where one came: Roch, Traore,
/// Bernard 2006.
template <std::random_access_iterator I, std::random_access_iterator Out, class T, class Op>
Out parallel_scan(I first, I last, Out out, T identity, Op&& op, const loop_options& o = {}) {
    if (!(first < last)) return out;
    const std::ptrdiff_t n = last - first;
    impl::scan_blocks<I, Out, T, std::remove_reference_t<Op>>(first, n, out, identity, op,
                                                              static_cast<std::ptrdiff_t>(o.grain))
        .run();
    return out + n;
}

} // namespace weft
