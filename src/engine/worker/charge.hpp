#pragma once

#include "engine/ports/meter.hpp"
#include "engine/worker/worker.hpp"

namespace weft::engine {

/// The operation takes place now. It costs time on modelled machines.
inline void charge(worker& w, operation o) noexcept {
    if (w.slow) [[unlikely]]
        w.meter.charge(w, o);
}

} // namespace weft::engine
