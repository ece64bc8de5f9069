#include "engine/worker/limited_context.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

namespace weft::engine {

void limited_context::exchange(worker_id, worker_id) { std::abort(); }
void limited_context::preempt(worker_id) { std::abort(); }
std::span<task*> limited_context::mold(task&, int) { std::abort(); }
snapshot limited_context::running(worker_id) const { std::abort(); }
usage limited_context::so_far(const task&) const { std::abort(); }

void check_needs(const requirements& n, const std::string& engine_name) {
    const std::pair<bool, const char*> unmet[] = {{n.preempts, "preemption"},
                                                  {n.molds, "molding"},
                                                  {n.exchanges, "the exchange of cores"},
                                                  {n.snapshots, "snapshots of running tasks"},
                                                  {n.tick > 0, "a tick"}};
    for (const auto& [needed, what] : unmet)
        if (needed)
            throw error("the policy needs something that the engine '" + engine_name + "' does not offer",
                        what, "policies that do without it");
    if (n.task_bytes > max_task_bytes || n.group_bytes > max_group_bytes)
        throw error("the policy asks for too many bytes in each task or group",
                    fmt::format("{} and {}", n.task_bytes, n.group_bytes),
                    fmt::format("at most {} and {}", max_task_bytes, max_group_bytes));
}

} // namespace weft::engine
