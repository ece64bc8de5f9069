#pragma once

#include "gate/gate.hpp"
#include "task/task.hpp"

namespace weft::impl {
struct worker;
}

/// Carries out what the gate decides.
namespace weft::engine {

using impl::worker;

/// Asks the gate for a task that has a claim of its own, before the task starts or is resumed. False if the
/// task may not run now: the gate keeps it, or its team is being formed.
bool admit(worker&, task&);
/// The task is about to be suspended.
void pause_claim(worker&, task&);
/// Called in user code: the calling task, or the task of which it is a share, gives its claim back before its
/// end.
void release_claim();
/// Offers what the gate has released.
void offer_released(worker&, gate::released&);

} // namespace weft::engine
