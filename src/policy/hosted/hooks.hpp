#pragma once

#include "policy/seam/policy.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

/// Policies that are written in another language.
namespace weft::hosted {

/// Where ready() put a task. Without a place it is the worker's own; without a range all workers may take it.
struct placed {
    std::optional<place_id> at{};
    std::optional<workers> who{};
    worker_id near = -1; ///< as placement::near
};

/// The answer of next().
struct found {
    enum class kind : std::uint8_t {
        nothing,
        a_task,   ///< `t`
        at_place, ///< nothing lay at place `number`
        ask       ///< worker `number` for a hidden frame
    };
    kind is = kind::nothing;
    task* t = nullptr; ///< null also for a task that has ended
    int number = 0;
};

/// The hooks of a policy as its own language has them: those of weft::policy, with words in place of enums.
/// Their answers need not be right: hosted_policy checks them. Every hook may throw anything; after the first
/// exception no hook is called any more. The caller's thread is a worker of a modelled machine, so one hook
/// runs at a time.
class hooks {
public:
    /// Throws weft::error if the policy fails in it.
    virtual requirements attach(const machine&, policy_context&) = 0;

    /// `is_new`: the policy sees `t` for the first time. A task that had its address has ended.
    virtual placed ready(worker_id, task& t, const char* reason, bool is_new) = 0;
    virtual found next(worker_id, bool last_look) = 0;
    virtual std::optional<workers> victims(worker_id) = 0; ///< without a value: all

    /// With requirements::most_width. Where the moldable task runs; then its shares, of which the first is the task itself.
    /// The policy sees the others for the first time.
    virtual elastic_place mold(worker_id, task&) = 0;
    virtual void assemble(worker_id, std::span<task* const> shares, elastic_place) = 0;

    /// "child_first", "parent_first", "call" or "lazy". The policy sees `child` for the first time.
    virtual std::string spawn(worker_id, task& parent, task& child) = 0;

    virtual void group_begin(worker_id, task&, group&) = 0;
    virtual std::string group_wait(worker_id, task&, group&) = 0; ///< "stay" or "requeue"
    virtual void group_end(worker_id, task&, group&) = 0;         ///< the last hook about this group

    virtual void started(worker_id, task&) = 0;
    virtual void blocked(worker_id, task&, const char* reason) = 0;
    virtual void finished(worker_id, task&, const usage&) = 0; ///< the last hook about this task
    virtual void iteration(worker_id, task&, int number) = 0;
    virtual bool gives_way(worker_id, task&) = 0; ///< a task that the policy has seen
    virtual void tick(time_ns now) = 0;

    virtual ~hooks() = default;
};

} // namespace weft::hosted
