#pragma once

#include <weft/impl/entry.hpp>

namespace weft::engine {

struct engine;

/// Runs `b` as a root of `e` and waits for it, from whatever thread; in place if the caller is a worker of `e`.
void run_root(engine& e, impl::body b);

} // namespace weft::engine
