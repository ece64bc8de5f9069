// A loop as OpenMP's schedule(static) runs it: each thread has one share of adjacent iterations. The policies `static` and
// `dynamic` deal out the shares: to the thread of that number, or to the worker that asks first.
#pragma once

#include <weft/weft.hpp>

#include <algorithm>
#include <cstddef>

namespace examples {

// f(first, last) for [0, n), `block` iterations at a time: what one call touches is one transfer.
template <class F>
void share_out(std::size_t n, std::size_t block, const F& f) {
    weft::parallel_for_range(std::size_t{0}, n, [&](std::size_t from, std::size_t to) {
        for (; from < to; from += std::min(block, to - from)) f(from, std::min(to, from + block));
    });
}

} // namespace examples
