#pragma once

#include "task/task.hpp"

#include <string>

namespace weft::impl {
struct worker;
}

/// How a team is formed and dissolved: README.md, "Teams".
namespace weft::engine {

using impl::worker;
struct arena;
struct engine;

/// Publishes the request of a task that has passed the gate with the workers that it asked for.
void publish(worker&, task&);
/// Called by a worker that looks for work, when its arena has calls. The worker leaves a team that has ended,
/// or joins a request and waits for the other members. True if it has changed arenas or must stop.
bool follow_call(worker&);
/// A call concerns this worker: a request that is not complete has a token for it, or its team has ended. A
/// hint.
bool is_called(const worker&) noexcept;
/// The arena of the isolated regions of this worker in its arena. Throws std::bad_alloc, and weft::error if the engine has
/// one instance of its policy only.
arena& arena_of_region(worker&);
/// The worker, which runs no task, begins an isolated region that is kept together by one task. When the region has
/// ended, it leaves the region and goes on with the suspended task `leader`.
void enter_region(worker&, arena& region, task& leader) noexcept;
/// Something that kept the team together has ended. If it was the last, dissolves the team.
void release_team(worker&, arena&);
/// The tasks that wait for workers, one in each line, for reports of deadlocks.
std::string teams_to_string(const engine&);

} // namespace weft::engine
