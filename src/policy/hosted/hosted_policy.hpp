#pragma once

#include "policy/hosted/held_tasks.hpp"
#include "policy/hosted/hooks.hpp"
#include "policy/seam/policy.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

namespace weft::hosted {

/// A policy whose hooks are written in another language, for modelled machines only. A hook that fails must
/// not stop the engine, whose tasks are C++: the first failure is kept, and from then on tasks are run first
/// in, first out, so that the program comes to its end.
class hosted_policy final : public policy {
public:
    /// `failure` outlives the policy. It holds the first exception of a hook, and std::invalid_argument for an
    /// answer that is wrong. While it is set, no hook is called.
    hosted_policy(std::unique_ptr<hooks> h, std::exception_ptr& failure);

    requirements attach(const machine&, policy_context&) override;
    placement ready(worker_id, task&, ready_reason) override;
    decision next(worker_id, bool last_look) override;
    workers victims(worker_id) override;
    elastic_place mold(worker_id, task&) override;
    void assemble(worker_id, std::span<task* const> shares, elastic_place) override;
    spawn_order spawn(worker_id, task& parent, task& child) override;
    void group_begin(worker_id, task&, group&) override;
    after_wait group_wait(worker_id, task&, group&) override;
    void group_end(worker_id, task&, group&) override;
    void started(worker_id, task&) override;
    void blocked(worker_id, task&, ready_reason) override;
    void resumed(worker_id, task&) override;
    void finished(worker_id, task&, const usage&) override;
    void iteration(worker_id, task&, int) override;
    bool gives_way(worker_id, const task&) override;
    void tick(time_ns now) override;

private:
    /// Calls `use` with the hooks. Returns false if a hook has failed, now or before.
    template <class Use>
    bool call(Use&& use) noexcept;
    void fail(std::exception_ptr) noexcept;
    void starve(worker_id) noexcept;
    bool all_sleep(worker_id, bool sleeps);

    placement checked(const placed&, worker_id) const;
    workers checked(const std::optional<workers>&) const;
    static place_id checked_place(int);
    elastic_place checked(elastic_place) const;
    decision checked(const found&, worker_id);

    const std::unique_ptr<hooks> hooks_;
    std::exception_ptr& failure_;
    policy_context* engine_ = nullptr;
    workers workers_{};
    int most_width_ = 0; ///< requirements::most_width
    held_tasks held_;
    std::vector<char> sleeps_; ///< by worker: its last call of next() was a last look and found nothing
    std::unordered_set<task*> blocked_; ///< tasks that something may still unblock
};

} // namespace weft::hosted
