#pragma once

#include "policy/parts/clusters.hpp"
#include "policy/parts/places.hpp"
#include "policy/parts/put_count.hpp"
#include "policy/seam/policy.hpp"

#include "queue/cache_line.hpp"

#include <cstddef>
#include <memory>

/// What the policies for clusters share: a deque for each worker, spawned children offered, and how to send a
/// task to another worker. Where thieves look, and when they ask, is for each policy to say.
///
/// The sources restrict which worker takes from where. Here a worker that is about to sleep looks everywhere
/// all the same: workers share their memory, and no task waits behind a busy worker for ever. A worker that
/// never sleeps (WEFT_SPIN=forever) does as the papers say.
namespace weft {

class cluster_policy : public policy {
public:
    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        nodes_.attach(m, context);
        puts_.attach(context.all().size());
        busy_ = std::make_unique<flag[]>(static_cast<std::size_t>(context.all().size()));
        return {.demotable = true, .resizable = true, .posts = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        puts_.add(w);
        return places_.put(w, t, reason);
    }

    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

protected:
    /// Looks at all other workers, those of the own cluster first.
    decision last_look(worker_id w) {
        for (const bool near : {true, false})
            for (int i = 1; i < places_.workers_in_all(); ++i) {
                const worker_id v = (w + i) % places_.workers_in_all();
                if ((nodes_.of(v) == nodes_.of(w)) != near) continue;
                if (task* const t = places_.look_hard(v)) return {t, v};
            }
        return {nullptr, w};
    }

    /// For the answer of next(): notes whether `w` runs a task.
    decision decided(worker_id w, decision p) noexcept {
        busy_[static_cast<std::size_t>(w)].is_set = p.t != nullptr;
        return p;
    }
    /// What `w` gives to a worker that asks by a message: its oldest task, but only while it runs another
    /// one. Otherwise two idle workers that have asked each other may send a task to and fro for ever, each
    /// time before it begins.
    task* spare(worker_id w) noexcept {
        return busy_[static_cast<std::size_t>(w)].is_set ? places_.look(w).t : nullptr;
    }

    /// For policies in which workers do not look elsewhere: by R2 of places.hpp they must.
    decision look_for_yielded(worker_id w) {
        const worker_id v = places_.keeps_behind(w) ? places_.random_victim(w) : -1;
        return v < 0 ? decision{nullptr, w} : decision{places_.look(v).t, v};
    }

    /// A task has come by a message.
    placement arrived(worker_id w, task& t) {
        puts_.add(w);
        return places_.put_behind(w, t);
    }

    policy_context* context_ = nullptr;
    places places_;
    clusters nodes_;
    put_count puts_;

private:
    struct alignas(queue::k_cache_line_bytes) flag { // only its worker touches it: it runs a task
        bool is_set = false;
    };
    std::unique_ptr<flag[]> busy_;
};

} // namespace weft
