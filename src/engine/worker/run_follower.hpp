#pragma once

#include "queue/spin_lock.hpp"
#include "task/task.hpp"

namespace weft::impl {
struct worker;
}

namespace weft::engine {

using impl::worker;
struct engine;

/// Tells a policy with requirements::follows_runs when runs begin and end. An engine whose policy does not follow runs has none.
///
/// The engine's open roots are counted here under a lock, which is held while the policy is told: a root that begins beside
/// another one has the zone that the policy has chosen for their run. No tick may come to a thread that holds it.
class run_follower {
public:
    explicit run_follower(engine& of) : of_(of) {}

    /// The root is about to be handed in; it gets its zone.
    void root_begins(task& root) noexcept;
    /// A task that its root does not wait for is about to be submitted: observation::run_continues().
    bool continues() noexcept;
    void root_ended() noexcept;

private:
    engine& of_;
    queue::spin_lock<> lock_;
    int open_ = 0; ///< under lock_
};

} // namespace weft::engine
