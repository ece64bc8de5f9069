#pragma once

#include "engine/worker/worker.hpp"
#include "policy/seam/policy.hpp"
#include "task/task.hpp"

namespace weft::engine {

/// Gives a ready task to the policy of its arena, and announces where the policy has placed it.
void offer(worker&, task&, ready_reason) noexcept;
/// Gives a root its number; from any thread.
void number_root(engine&, task&);
/// Gives a root its number and submits it; from any thread.
void submit_root(engine&, task&);

} // namespace weft::engine
