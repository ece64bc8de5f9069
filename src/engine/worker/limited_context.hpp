#pragma once

#include "policy/seam/policy.hpp"

#include <span>
#include <string>

namespace weft::engine {

/// A policy_context without what no engine offers so far. A policy that would call it says so in its
/// requirements, and check_needs() keeps it out.
struct limited_context : policy_context {
    [[noreturn]] void exchange(worker_id, worker_id) final;
    [[noreturn]] void preempt(worker_id) final;
    [[noreturn]] std::span<task*> mold(task&, int) final;
    [[noreturn]] snapshot running(worker_id) const final;
    [[noreturn]] usage so_far(const task&) const final;

protected:
    ~limited_context() = default;
};

/// Throws weft::error, naming the first need that the engine of this name cannot meet.
void check_needs(const requirements&, const std::string& engine_name);

} // namespace weft::engine
