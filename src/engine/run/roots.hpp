#pragma once

#include <weft/impl/entry.hpp>

namespace weft::engine {

struct engine;

/// Runs `b` as a root of `e` and waits for it; from any thread. If the caller is a worker of `e`, `b` runs in
/// place.
void run_root(engine& e, impl::body b);

} // namespace weft::engine
