#include "policy/parts/cluster_policy.hpp"
#include "policy/seam/registry.hpp"
#include "queue/cache_line.hpp"

#include <cstddef>
#include <memory>

/// Cluster-aware random stealing: far steals overlap with near ones.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 4.3.4,
///   Algorithm 4; after R. V. van Nieuwpoort, T. Kielmann, H. E. Bal: Efficient load balancing for
///   wide-area divide-and-conquer applications. PPoPP 2001.
///
/// A worker without work posts one request to a random node of a random other cluster. While that is under
/// way, it steals from random nodes of its own cluster. The request is not withdrawn if a task is found
/// nearby. The answer, a task or none, comes as a message at any time; only then may the next request be
/// sent. A task that comes goes to the tail of the own queue.
///
/// Invariant: a worker has at most one request under way (under_way, which only it touches), and sends none
/// while it has a task. The algorithm says neither how the far victim is drawn, nor when thieves stop. Here
/// they stop when they have looked everywhere, until a task is put anywhere (put_count.hpp).
namespace weft::policies {
namespace {

class cluster_aware_random final : public cluster_policy {
    enum message_kind : int { request, reply };

public:
    requirements attach(const machine& m, policy_context& context) override {
        thieves_ = std::make_unique<thief[]>(static_cast<std::size_t>(context.all().size()));
        return cluster_policy::attach(m, context);
    }

    decision next(worker_id w, bool last) override { return decided(w, take(w, last)); }

    placement message(worker_id w, worker_id from, int kind, task* t) override {
        if (kind == request) {
            context_->post(w, from, reply, spare(w)); // a task or nothing: an answer either way
            return {};
        }
        of(w).under_way = false;
        return t != nullptr ? arrived(w, *t) : placement{};
    }

private:
    decision take(worker_id w, bool last) {
        if (const decision own = places_.own(w, last); own.t != nullptr) return own;
        thief& me = of(w);
        if (last) {
            me.far.give_up(puts_.total()); // as it was before the look
            const decision found = last_look(w);
            if (found.t != nullptr) me.far.gave_up = false;
            return found;
        }
        if (!me.under_way && nodes_.several() && me.far.may_ask(puts_)) {
            me.under_way = true;
            context_->post(w, nodes_.draw_far(w), request);
        }
        const worker_id near = nodes_.draw_near(w);
        if (near < 0) return {nullptr, w};
        return {places_.look(near).t, near};
    }

    struct alignas(queue::k_cache_line_bytes) thief { // only its worker touches it
        bool under_way = false;
        far_patience far;
    };
    thief& of(worker_id w) noexcept { return thieves_[static_cast<std::size_t>(w)]; }

    std::unique_ptr<thief[]> thieves_;
};

} // namespace

extern constinit const policy_entry crs_entry{
    .name = "crs",
    .summary = "steals near at random while one request is under way to another cluster",
    .source = "Chen & Guo 2017, 4.3.4, Algorithm 4; van Nieuwpoort et al., PPoPP 2001",
    .wants = "divide and conquer",
    .helps = "clusters of machines, and packages far from each other: the long way is hidden",
    .knobs = {},
    .make = [](const knob_values&) -> std::unique_ptr<policy> {
        return std::make_unique<cluster_aware_random>();
    },
};

} // namespace weft::policies
