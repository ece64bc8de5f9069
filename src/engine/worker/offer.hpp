#pragma once

#include "engine/worker/worker.hpp"
#include "policy/seam/policy.hpp"
#include "task/task.hpp"
#include "trace/write/names.hpp"

namespace weft::engine {

/// Gives a ready task to the policy of its arena, and announces where the policy has placed it.
void offer(worker&, task&, ready_reason) noexcept;
/// Gives a root its number; from any thread. The address is that of the program's code in it, for traces; 0: it has none.
void number_root(engine&, task&, trace::code_address);
/// The same, and submits the root.
void submit_root(engine&, task&, trace::code_address);

} // namespace weft::engine
