#include "policy/parts/cluster_policy.hpp"
#include "policy/seam/registry.hpp"
#include "queue/cache_line.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

/// Topology-aware stealing where victims show themselves.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 4.3.5,
///   equations (4.1) and (4.2), Algorithm 5; after Vikranth et al.
///
/// The workers of a package are a stealing domain. Every queue has a bit. It shows a victim from S = C -
/// lambda T_push + mu T_pop tasks upwards, and a thief from s = mu T_pop tasks downwards; between the two it
/// stays as it is. A worker that has nothing takes the oldest task of a victim of its own domain. It goes to
/// another domain only if no queue of its own domain shows a victim. No victim is drawn at random.
///
/// In the text of the book the thresholds overlap, and are the other way round than in its algorithm; the
/// algorithm is right. Taken literally, its "if not empty" would have a worker steal after every task; the
/// loop is meant. S may exceed the capacity C, so it is kept within [s + 1, C]. Knobs give the products. A
/// queue of fewer than S tasks is never a victim, so the capacity is small.
///
/// A bit is a hint. Each worker writes it after a push or a pop of its own; the next push or pop corrects a
/// wrong bit, and a last look does not read bits.
namespace weft::policies {
namespace {

constexpr knob tatl_knobs[] = {
    {"capacity", "3", "1..1000000", "C: tasks that a queue is meant to hold"},
    {"push", "2", "0..1000000", "lambda T_push: tasks that arrive while one is pushed"},
    {"pop", "1", "0..1000000", "mu T_pop: tasks that leave while one is popped"},
};

class shown_victims final : public cluster_policy {
public:
    shown_victims(int capacity, int push, int pop)
        : low_(pop)
        , high_(std::max(pop + 1, std::min(capacity, capacity - push + pop))) {}

    requirements attach(const machine& m, policy_context& context) override {
        requirements need = cluster_policy::attach(m, context);
        need.posts = false;
        shows_ = std::make_unique<status[]>(static_cast<std::size_t>(context.all().size()));
        return need;
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        const placement at = cluster_policy::ready(w, t, reason);
        show(w);
        return at;
    }

    decision next(worker_id w, bool last) override {
        const decision own = places_.own(w, last);
        show(w);
        if (own.t != nullptr) return own;
        if (last) return last_look(w);
        const worker_id v = victim_of(w);
        if (v < 0) return look_for_yielded(w);
        task* const t = places_.look(v).t;
        show(v);
        return {t, v};
    }

private:
    struct alignas(queue::k_cache_line_bytes) status {
        queue::cell<std::uint32_t> is_victim;
    };
    queue::cell<std::uint32_t>& is_victim(worker_id w) noexcept {
        return shows_[static_cast<std::size_t>(w)].is_victim;
    }

    void show(worker_id w) noexcept {
        const int length = places_.length(w);
        const std::uint32_t before = is_victim(w).load_relaxed();
        const std::uint32_t now = length >= high_ ? 1 : length <= low_ ? 0 : before;
        if (now != before) is_victim(w).store_relaxed(now);
    }

    /// The next victim upwards and around, of the own domain, otherwise of another; -1: none.
    worker_id victim_of(worker_id w) noexcept {
        const int count = places_.workers_in_all();
        worker_id far = -1;
        for (int i = 1; i < count; ++i) {
            const worker_id v = (w + i) % count;
            if (is_victim(v).load_relaxed() == 0) continue;
            if (nodes_.of(v) == nodes_.of(w)) return v;
            if (far < 0) far = v;
        }
        return far;
    }

    const int low_, high_;
    std::unique_ptr<status[]> shows_;
};

} // namespace

extern constinit const policy_entry tatl_entry{
    .name = "tatl",
    .summary = "long queues show themselves as victims; the own package's first",
    .source = "Chen & Guo 2017, 4.3.5, Algorithm 5; after Vikranth et al.",
    .helps = "machines of several packages whose workers have long queues",
    .knobs = tatl_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<shown_victims>(static_cast<int>(values.integer("capacity")),
                                               static_cast<int>(values.integer("push")),
                                               static_cast<int>(values.integer("pop")));
    },
};

} // namespace weft::policies
