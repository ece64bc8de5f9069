#pragma once

#include "task/task.hpp"

#include <string>

namespace weft::impl {
struct worker;
}

/// How a team is called together and dissolved: README.md.
namespace weft::engine {

using impl::worker;
struct arena;
struct engine;

/// A task that has passed the gate, with workers that it asked for: calls them.
void publish(worker&, task&);
/// Of a worker that looks for work, when its arena calls: it leaves a team that has ended, or joins one that
/// it is called to and waits for the others. True if it has changed arenas, or is to stop.
bool follow_call(worker&);
/// It is called itself, by a request that is not complete: a hint.
bool is_called(const worker&) noexcept;
/// Something of a team has ended that keeps it together.
void release_team(worker&, arena&);
/// The tasks that wait for workers, one a line, for reports of deadlocks.
std::string teams_to_string(const engine&);

} // namespace weft::engine
