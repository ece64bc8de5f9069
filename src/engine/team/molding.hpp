#pragma once

#include "task/task.hpp"

namespace weft::impl {
struct worker;
}

/// How a policy that molds (requirements::most_width) gives a moldable task its workers: README.md, "Molding". Teams, which
/// serve all other policies, are in teams.hpp.
namespace weft::engine {

/// The worker has found a task that is still to be molded: asks the policy for the place, makes the shares, and hands them
/// to the policy.
void mold(impl::worker&, task&) noexcept;

} // namespace weft::engine
