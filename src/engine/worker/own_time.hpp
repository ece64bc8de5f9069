#pragma once

#include "engine/ports/host.hpp"
#include "engine/worker/worker.hpp"

/// requirements::own_usage: the running task is charged for the time that its code takes between two entries
/// into the runtime.
namespace weft::engine {

inline void own_time_begins(worker& w) noexcept {
    if (w.times_tasks) w.user_code_began = w.host.now();
}
inline void own_time_ends(worker& w) noexcept {
    if (w.times_tasks) w.current->running->self_ns_ += w.host.now() - w.user_code_began;
}

} // namespace weft::engine
