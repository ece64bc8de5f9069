#pragma once

#include "trace/write/names.hpp"

#include <weft/hints.hpp>
#include <weft/impl/entry.hpp>

namespace weft::engine {

struct engine;

/// Runs `b` as a root of `e` and waits for it; from any thread. If the caller is a worker of `e`, `b` runs in
/// place. `code`: the program's code in it, for traces; 0: there is none.
void run_root(engine& e, impl::body b, trace::code_address code, const hints& h = no_hints);
inline void run_root(engine& e, impl::body b, const hints& h = no_hints) {
    run_root(e, b, trace::address_of(b.run), h);
}

} // namespace weft::engine
