#include "policy/parts/cluster_policy.hpp"
#include "policy/seam/registry.hpp"
#include "queue/cache_line.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

/// Random pushing: work is sent before any worker asks for it.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 4.3.1; after
///   R. V. van Nieuwpoort, T. Kielmann, H. E. Bal: Efficient load balancing for
///   wide-area divide-and-conquer applications. PPoPP 2001.
///
/// If a worker has created a task and its queue is longer than `threshold`, it sends its oldest task to a
/// random other worker and continues. No worker steals. At most `in_flight` tasks of a worker are on their
/// way at a time; at that limit it keeps the task. The book gives neither figure, and calls the sending both
/// synchronous and asynchronous; here it is asynchronous. The sender and the receiver share one word, the
/// count of what is on its way.
namespace weft::policies {
namespace {

constexpr knob random_push_knobs[] = {
    {"threshold", "1", "0..1000000", "length of the own queue beyond which a new task is sent away"},
    {"in_flight", "4", "1..1000000", "tasks of a worker that are on their way at a time, at most"},
};

class random_pushing final : public cluster_policy {
public:
    random_pushing(int threshold, int in_flight) : threshold_(threshold), in_flight_(in_flight) {}

    requirements attach(const machine& m, policy_context& context) override {
        on_their_way_ = std::make_unique<counter[]>(static_cast<std::size_t>(context.all().size()));
        return cluster_policy::attach(m, context);
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        const placement at = cluster_policy::ready(w, t, reason);
        if (reason == ready_reason::spawned && places_.length(w) > threshold_ &&
            on_their_way(w).load_relaxed() < in_flight_) {
            const worker_id to = places_.random_victim(w);
            task* const oldest = to < 0 ? nullptr : places_.look(w).t;
            if (oldest != nullptr) {
                on_their_way(w).add(1);
                context_->post(w, to, 0, oldest);
            }
        }
        return at;
    }

    decision next(worker_id w, bool last) override {
        if (const decision own = places_.own(w, last); own.t != nullptr) return own;
        return last ? last_look(w) : look_for_yielded(w);
    }

    placement message(worker_id w, worker_id from, int, task* t) override {
        on_their_way(from).add(-1);
        return arrived(w, *t);
    }

private:
    struct alignas(queue::k_cache_line_bytes) counter {
        queue::cell<std::int32_t>
            value; // tasks sent by this worker that have not arrived: it adds, receivers subtract
    };
    queue::cell<std::int32_t>& on_their_way(worker_id w) noexcept {
        return on_their_way_[static_cast<std::size_t>(w)].value;
    }

    const int threshold_, in_flight_;
    std::unique_ptr<counter[]> on_their_way_;
};

} // namespace

extern constinit const policy_entry random_push_entry{
    .name = "random-push",
    .summary = "long queues send their oldest task to a random worker",
    .source = "Chen & Guo 2017, 4.3.1; van Nieuwpoort et al., PPoPP 2001",
    .wants = "divide and conquer",
    .helps = "a base line for the policies that steal",
    .knobs = random_push_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<random_pushing>(static_cast<int>(values.integer("threshold")),
                                                static_cast<int>(values.integer("in_flight")));
    },
};

} // namespace weft::policies
