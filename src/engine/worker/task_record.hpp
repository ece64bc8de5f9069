#pragma once

#include "engine/worker/worker.hpp"
#include "task/task.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::engine {

/// A record with the policy's bytes (zeroed) and room for a closure behind them. If `worker` is null, the
/// memory comes from the global allocator.
task& make_task(worker*, engine&, std::size_t closure_bytes, std::size_t closure_align);
void free_task(worker*, task&) noexcept;
/// Makes `child` the next child of `parent` (null: a root) in `in`.
void adopt(task& child, task* parent, group* in, const hints&) noexcept;
/// Identity of a graph's n-th task: the same in every run.
std::uint64_t graph_task_id(std::uint32_t n) noexcept;
/// The task that an exposed entry becomes: a new record for a frame, the parent's own for a continuation.
task& task_of_frame(worker& thief, impl::frame&);
bool is_root(const task&) noexcept;
/// For messages: "root 1", "task 2a 'name' of level 3 below root 1".
std::string described(const task&);

} // namespace weft::engine
