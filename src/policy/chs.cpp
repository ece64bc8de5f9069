#include "policy/parts/cluster_policy.hpp"
#include "policy/seam/registry.hpp"
#include "queue/cache_line.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// Cluster-aware hierarchical stealing: near first, along a tree.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 4.3.2; after
///   R. V. van Nieuwpoort, T. Kielmann, H. E. Bal: Efficient load balancing for
///   wide-area divide-and-conquer applications. PPoPP 2001.
///
/// The nodes of a cluster form a tree. An idle node asks the nodes below it, then its parent with all nodes
/// below that, and so on. If the whole cluster has nothing, one request goes to the root of another cluster,
/// drawn at random, which looks through its own tree in the same way. The thief waits for the answer.
///
/// The book leaves the tree open; here it is that of a heap over the ranks, with `arity` children for each
/// node. A call looks at one node. The look through another cluster's tree counts as one, since it is one
/// message there and back.
///
/// Invariant: one request of a cluster is under way at a time (asking). The thief stands in for the root of
/// its cluster, and the request ends at the thief's next hook.
namespace weft::policies {
namespace {

constexpr knob chs_knobs[] = {
    {"arity", "2", "1..1000", "children of a node in the tree of its cluster"},
};

class hierarchical_stealing final : public cluster_policy {
public:
    explicit hierarchical_stealing(int arity) : arity_(arity) {}

    requirements attach(const machine& m, policy_context& context) override {
        requirements need = cluster_policy::attach(m, context);
        need.posts = false;
        mine_ = std::make_unique<node[]>(static_cast<std::size_t>(context.all().size()));
        asking_ = std::make_unique<queue::cell<std::uint32_t>[]>(static_cast<std::size_t>(nodes_.count()));
        for (worker_id w = 0; w < context.all().size(); ++w) {
            const auto& all = nodes_.members(nodes_.of(w));
            node& me = of(w);
            std::vector<bool> seen(all.size());
            for (int i = nodes_.index_in_cluster(w);; i = (i - 1) / arity_) {
                descend(all, i, seen, me.way);
                if (i == 0) break;
            }
            me.way.erase(me.way.begin()); // itself
        }
        return need;
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        end_request(w);
        return cluster_policy::ready(w, t, reason);
    }

    void started(worker_id w, task&) override { end_request(w); }

    decision next(worker_id w, bool last) override {
        end_request(w);
        node& me = of(w);
        if (const decision own = places_.own(w, last); own.t != nullptr) {
            me.step = 0;
            return own;
        }
        if (last) return last_look(w);
        if (me.step < me.way.size()) {
            const worker_id v = me.way[me.step];
            const places::look_result found = places_.look(v);
            if (found.t != nullptr)
                me.step = 0;
            else if (!found.lost)
                ++me.step;
            return {found.t, v};
        }
        me.step = 0;
        return ask_another_cluster(w);
    }

private:
    struct alignas(queue::k_cache_line_bytes) node { // only its worker touches it, except `way`
        std::vector<worker_id> way; // fixed: all others of the cluster, in the order of asking
        std::size_t step = 0;
        bool asks = false; // it stands in for the root of its cluster
    };
    node& of(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }
    queue::cell<std::uint32_t>& asking(worker_id w) noexcept {
        return asking_[static_cast<std::size_t>(nodes_.of(w))];
    }

    /// Appends the i-th of `all` and the nodes below it, except those that `way` has already.
    void descend(const std::vector<worker_id>& all, int i, std::vector<bool>& seen,
                 std::vector<worker_id>& way) const {
        const auto at = static_cast<std::size_t>(i);
        if (at >= all.size() || seen[at]) return;
        seen[at] = true;
        way.push_back(all[at]);
        for (int c = 1; c <= arity_; ++c) {
            if (static_cast<std::size_t>(i) * static_cast<std::size_t>(arity_) +
                    static_cast<std::size_t>(c) >=
                all.size())
                break;
            descend(all, i * arity_ + c, seen, way);
        }
    }

    void end_request(worker_id w) noexcept {
        if (!of(w).asks) return;
        of(w).asks = false;
        asking(w).store_release(0); // pairs with the exchange below
    }

    decision ask_another_cluster(worker_id w) {
        const int c = nodes_.draw_cluster(w);
        if (c < 0 || asking(w).exchange(1) != 0) return {nullptr, w};
        of(w).asks = true;
        const worker_id root = nodes_.head(c);
        if (task* const t = places_.look(root).t) return {t, root};
        for (const worker_id v : of(root).way)
            if (task* const t = places_.look(v).t) return {t, v};
        return {nullptr, root};
    }

    const int arity_;
    std::unique_ptr<node[]> mine_;
    std::unique_ptr<queue::cell<std::uint32_t>[]> asking_;
};

} // namespace

extern constinit const policy_entry chs_entry{
    .name = "chs",
    .summary = "steals along a tree in each cluster, then from the root of another one",
    .source = "Chen & Guo 2017, 4.3.2; van Nieuwpoort et al., PPoPP 2001",
    .wants = "divide and conquer",
    .helps = "machines where few messages between clusters count for more than time",
    .knobs = chs_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<hierarchical_stealing>(static_cast<int>(values.integer("arity")));
    },
};

} // namespace weft::policies
