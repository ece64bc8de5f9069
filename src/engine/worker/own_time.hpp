#pragma once

#include "engine/ports/host.hpp"
#include "engine/worker/worker.hpp"

/// requirements::own_usage: the time between two entries into the runtime goes to the running task.
namespace weft::engine {

inline void own_time_begins(worker& w) noexcept {
    if (w.meters) w.stretch_began = w.host.now();
}
inline void own_time_ends(worker& w) noexcept {
    if (w.meters) w.current->running->self_ns_ += w.host.now() - w.stretch_began;
}

} // namespace weft::engine
