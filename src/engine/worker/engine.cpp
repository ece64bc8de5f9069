#include "engine/worker/engine.hpp"

#include "engine/worker/run_follower.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <utility>

namespace weft::engine {

engine::engine(const engine_ports& p, engine_parts parts, int workers, std::size_t stack_bytes,
               std::size_t keep_fibers, fiber_pool::entry_fn entry)
    : engine_ports(p)
    , scheduler(std::move(parts.scheduler))
    , make_policy(std::move(parts.make_policy))
    , machine(std::move(parts.machine))
    , outermost(*this, 0, static_cast<std::size_t>(workers))
    , gate(std::move(parts.resources), machine)
    , fibers(stack_bytes, keep_fibers, entry) {
    outermost.scheduler = scheduler.get();
}

engine::~engine() = default;

void engine::attach_policy() {
    need = scheduler->attach(machine, outermost);
    if (need.task_bytes > max_task_bytes || need.group_bytes > max_group_bytes)
        throw error("the policy asks for too many bytes in each task or group",
                    fmt::format("{} and {}", need.task_bytes, need.group_bytes),
                    fmt::format("at most {} and {}", max_task_bytes, max_group_bytes));
    set_zone({need.lazy, need.graph_tasks, need.most_width > 0});
    if (need.follows_runs) runs = std::make_unique<run_follower>(*this);
    outermost.watch_if_needed(need);
    const std::size_t count = outermost.members.size();
    for (worker* w : outermost.members) {
        w->times_tasks = need.own_usage;
        w->counts_misses = need.own_misses;
        if (need.task_bytes > 0)
            w->exposed_task_data = std::make_unique_for_overwrite<std::byte[]>(count * need.task_bytes);
    }
}

} // namespace weft::engine
