#include "engine/worker/engine.hpp"

#include "engine/worker/limited_context.hpp"

#include <utility>

namespace weft::engine {

engine::engine(const engine_ports& p, engine_parts parts, int workers, std::size_t stack_bytes,
               std::size_t keep_fibers, fiber_pool::entry_fn entry)
    : engine_ports(p)
    , scheduler(std::move(parts.scheduler))
    , another_policy(std::move(parts.another))
    , on(std::move(parts.on))
    , outermost(*this, 0, static_cast<std::size_t>(workers))
    , gate(std::move(parts.resources), on)
    , fibers(stack_bytes, keep_fibers, entry) {
    outermost.scheduler = scheduler.get();
}

engine::~engine() = default;

void engine::attach_policy(const std::string& engine_name) {
    need = scheduler->attach(on, outermost);
    check_needs(need, engine_name);
    const std::size_t count = outermost.members.size();
    for (worker* w : outermost.members) {
        w->meters = need.own_usage;
        w->counts_misses = need.own_misses;
        if (need.task_bytes > 0)
            w->given = std::make_unique_for_overwrite<std::byte[]>(count * need.task_bytes);
    }
}

} // namespace weft::engine
