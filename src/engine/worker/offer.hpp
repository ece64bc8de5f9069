#pragma once

#include "engine/worker/worker.hpp"
#include "policy/seam/policy.hpp"
#include "task/task.hpp"

namespace weft::engine {

/// Hands a ready task to the policy of its arena, and announces where the policy has put it.
void offer(worker&, task&, ready_reason) noexcept;
/// Numbers a root and hands it in; from any thread.
void submit_root(engine&, task&);

} // namespace weft::engine
