#pragma once

#include "gate/gate.hpp"
#include "task/task.hpp"

namespace weft::impl {
struct worker;
}

/// What the gate decides, carried out.
namespace weft::engine {

using impl::worker;

/// Of a task that has a claim of its own, before it starts or is resumed: false if the gate keeps the task, or its team
/// is called together.
bool admit(worker&, task&);
/// The task is about to be suspended.
void pause_claim(worker&, task&);
/// In user code: the calling task has ended as far as its claim goes, or that of which it is a share.
void release_claim();
/// Offers what the gate has released.
void offer_released(worker&, gate::released&);

} // namespace weft::engine
