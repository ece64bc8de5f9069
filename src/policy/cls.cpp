#include "policy/parts/cluster_policy.hpp"
#include "policy/seam/registry.hpp"
#include "queue/cache_line.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

/// Cluster-aware load-based stealing: a coordinator for each cluster fetches tasks ahead of need.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 4.3.3; after
///   R. V. van Nieuwpoort, T. Kielmann, H. E. Bal: Efficient load balancing for
///   wide-area divide-and-conquer applications. PPoPP 2001.
///
/// Inside of a cluster stealing is random. Every node tells the length of its queue to the coordinator of its
/// cluster, which is the first worker of the cluster: every `interval`, and at once when the queue runs dry.
/// If the sum is below `threshold` and no request of the cluster is under way, the coordinator posts one to a
/// random node of a random other cluster. The task that comes goes to the coordinator's queue, where the
/// others find it by stealing. With one cluster no message is ever sent, and the policy is random stealing.
///
/// Lengths stand in words of the nodes. The message says that there is something to read, and a node sends no
/// second one before the first was read (unread). The book does not say that a coordinator has at most one
/// request under way.
namespace weft::policies {
namespace {

constexpr knob cls_knobs[] = {
    {"threshold", "0", "0..1000000",
     "tasks in the queues of a cluster below which one is fetched; 0: as many as it has workers"},
    {"interval", "1000", "1..10000000", "microseconds between two messages about the length of a queue"},
};

class cluster_aware_load_based final : public cluster_policy {
    enum message_kind : int { load, request, reply };

public:
    cluster_aware_load_based(std::int64_t threshold, std::int64_t interval_us)
        : threshold_(threshold)
        , interval_(interval_us * 1000) {}

    requirements attach(const machine& m, policy_context& context) override {
        mine_ = std::make_unique<node[]>(static_cast<std::size_t>(context.all().size()));
        return cluster_policy::attach(m, context);
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        const placement at = cluster_policy::ready(w, t, reason);
        tell_by_the_clock(w);
        return at;
    }

    decision next(worker_id w, bool last) override { return decided(w, take(w, last)); }

    placement message(worker_id w, worker_id from, int kind, task* t) override {
        node& me = of(w);
        if (kind == load) {
            of(from).unread.exchange(0); // before the length is read: a later one comes with its own message
            if (puts_.total() != me.asked_at) fetch(w);
            return {};
        }
        if (kind == request) {
            context_->post(w, from, reply, spare(w)); // a task or nothing: an answer either way
            return {};
        }
        me.under_way = false;
        const placement at = t != nullptr ? arrived(w, *t) : placement{};
        if (puts_.total() != me.asked_at) fetch(w);
        return at;
    }

private:
    decision take(worker_id w, bool last) {
        node& me = of(w);
        if (const decision own = places_.own(w, last); own.t != nullptr) {
            me.idle = false;
            tell_by_the_clock(w);
            return own;
        }
        if (!me.idle) {
            me.idle = true;
            tell(w);
        }
        if (last) {
            me.far.give_up(puts_.total()); // as it was before the look
            return got(me, last_look(w));
        }
        if (w == coordinator_of(w) && me.far.may_ask(puts_)) fetch(w);
        const worker_id near = nodes_.draw_near(w);
        if (near < 0) return {nullptr, w};
        return got(me, {places_.look(near).t, near});
    }

    struct alignas(queue::k_cache_line_bytes) node {
        queue::cell<std::int64_t> length;  // written by the worker
        queue::cell<std::uint32_t> unread; // 1: a message about it is under way
        // Only its worker touches what follows; the last three are used by coordinators.
        time_ns told = 0;
        bool idle = false;
        bool under_way = false;
        std::uint32_t asked_at = 0;
        far_patience far;
    };
    node& of(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }
    worker_id coordinator_of(worker_id w) const noexcept { return nodes_.head(nodes_.of(w)); }

    static decision got(node& me, decision p) noexcept {
        if (p.t != nullptr) me.idle = me.far.gave_up = false;
        return p;
    }

    void tell_by_the_clock(worker_id w) {
        if (nodes_.several() && context_->now() - of(w).told >= interval_) tell(w);
    }

    void tell(worker_id w) {
        if (!nodes_.several()) return;
        node& me = of(w);
        me.told = context_->now();
        me.length.store_relaxed(places_.length(w));
        const worker_id coordinator = coordinator_of(w);
        if (w == coordinator) {
            if (puts_.total() != me.asked_at) fetch(w);
        } else if (me.unread.exchange(1) == 0) { // release: pairs with the exchange in message()
            context_->post(w, coordinator, load);
        }
    }

    /// Only a coordinator calls it.
    void fetch(worker_id w) {
        node& me = of(w);
        if (me.under_way || !nodes_.several()) return;
        const auto& all = nodes_.members(nodes_.of(w));
        std::int64_t sum = 0;
        for (const worker_id v : all) sum += of(v).length.load_relaxed();
        if (sum >= (threshold_ > 0 ? threshold_ : static_cast<std::int64_t>(all.size()))) return;
        me.under_way = true;
        me.asked_at = puts_.total();
        context_->post(w, nodes_.draw_far(w), request);
    }

    const std::int64_t threshold_;
    const time_ns interval_;
    std::unique_ptr<node[]> mine_;
};

} // namespace

extern constinit const policy_entry cls_entry{
    .name = "cls",
    .summary = "random stealing in each cluster, whose coordinator fetches from others ahead of need",
    .source = "Chen & Guo 2017, 4.3.3; van Nieuwpoort et al., PPoPP 2001",
    .wants = "divide and conquer",
    .helps = "clusters of machines whose load is steady enough for one threshold",
    .knobs = cls_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<cluster_aware_load_based>(values.integer("threshold"),
                                                          values.integer("interval"));
    },
};

} // namespace weft::policies
