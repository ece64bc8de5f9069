#include "policy/policy.hpp"

#include "queue/cell.hpp"
#include "queue/locked_list.hpp"

#include <cstdint>
#include <memory>

/// Almost deterministic work stealing: S. Shiina, master's thesis, University of Tokyo 2021, chapter 4.
///
/// A task owns a range of workers and its children divide it by their work. Tasks whose range crosses workers
/// travel by mailbox to the owner of their range and are never stolen; below them everything is silent.
/// Stealing is allowed inside the range of the topmost group that has been activated.
namespace weft::policies::skeletons {
namespace {

struct range {
    float from, to;
    int owner() const { return static_cast<int>(from); }
    bool crosses() const { return owner() != static_cast<int>(to); }
};

struct tree_node { // of the distribution tree; racy reads by thieves are allowed (4.3.5)
    queue::cell<std::uint64_t> packed_range;
    queue::cell<tree_node*> parent;
    queue::cell<bool> active;
    tree_node* next_free; // the owner's
};

struct task_state_of_adws { // zero is "unknown": the whole machine
    range where;
    tree_node* node;
};
struct group_state_of_adws {
    double work_left;
    range saved;
    tree_node *node, *saved_node;
    bool is_search_root;
};

class adws : public policy {
    struct alignas(64) member {
        queue::locked_list<task> mailbox, local, migrated; // back: PASS and TAKE, front: PUSH and POP
        bool use_migrated = false;
        queue::cell<tree_node*> node;
        tree_node* free_nodes = nullptr; // a slab filled in attach
    };

public:
    requirements attach(const machine&, policy_context& context) override {
        context_ = &context;
        members_ = std::make_unique<member[]>(static_cast<std::size_t>(context.all().size()));
        return {.task_bytes = sizeof(task_state_of_adws), .group_bytes = sizeof(group_state_of_adws)};
    }

    placed ready(worker_id w, task& t, why reason) override {
        auto& mine = t.data<task_state_of_adws>();
        if (reason == why::root) mine = {{0, static_cast<float>(context_->all().size())}, nullptr};
        const int owner = mine.where.owner();
        if (reason == why::continuation || reason == why::exposed) { // never a search-root task
            (of(w).use_migrated ? of(w).migrated : of(w).local).push_front(&t);
            return {w, context_->all()};
        }
        if (mine.where.crosses() || reason == why::moved) {
            of(owner).mailbox.push_back(&t);
            return {owner, {owner, owner + 1}};
        }
        if (reason == why::spawned) {
            of(owner).migrated.push_back(&t); // PASS
            return {owner, context_->all()};
        }
        of(w).local.push_front(&t);
        return {w, context_->all()};
    }

    pick next(worker_id w, bool) override {
        member& m = of(w);
        if (task* const t = m.mailbox.try_pop_front()) {
            m.use_migrated = false;
            m.node.store_relaxed(t->data<task_state_of_adws>().node); // adoption, 4.2.4
            return {t, w};
        }
        auto& first = m.use_migrated ? m.migrated : m.local;
        if (task* const t = first.try_pop_front()) return {t, w};
        auto& second = m.use_migrated ? m.local : m.migrated;
        task* const t = second.try_pop_front();
        m.use_migrated = !m.use_migrated && t != nullptr;
        return t != nullptr ? pick{t, w} : steal(w);
    }

    workers victims(worker_id w) override { return steal_range(w); }

    order spawn(worker_id w, task& parent, task& child) override {
        auto& p = parent.data<task_state_of_adws>();
        auto& c = child.data<task_state_of_adws>();
        c = p;
        if (!p.where.crosses()) return order::lazy;
        if (child.last()) return order::call; // keeps all that is left
        double& left = child.in()->data<group_state_of_adws>().work_left;
        const double work = child.hint().work;
        left = left > work ? left - work : 0;
        const double share = left + work > 0 ? left / (left + work) : 0.5;
        const float middle = p.where.from + (p.where.to - p.where.from) * static_cast<float>(share);
        c.where.from = p.where.to = middle;
        return c.where.owner() == w ? order::child_first : order::parent_first;
    }

    void group_begin(worker_id w, task& t, group& g) override {
        auto& mine = t.data<task_state_of_adws>();
        tree_node* node = nullptr;
        if (mine.where.crosses()) {
            node = of(w).free_nodes;
            of(w).free_nodes = node->next_free;
            node->parent.store_relaxed(mine.node);
            of(w).node.store_relaxed(node);
        }
        g.data<group_state_of_adws>() = {g.hint().work, mine.where, node, mine.node, node != nullptr};
        if (node != nullptr) mine.node = node;
    }

    after_wait group_wait(worker_id, task& t, group& g) override {
        activate_if_crossing(t);
        return g.data<group_state_of_adws>().is_search_root ? after_wait::requeue
                                                            : after_wait::stay; // return migration
    }

    void group_end(worker_id w, task& t, group& g) override {
        const auto& state = g.data<group_state_of_adws>();
        auto& mine = t.data<task_state_of_adws>();
        if (state.is_search_root) {
            of(w).node.store_relaxed(state.saved_node);
            state.node->active.store_relaxed(false); // back to the slab of w, the owner
            state.node->next_free = of(w).free_nodes;
            of(w).free_nodes = state.node;
        }
        mine = {state.saved, state.saved_node};
    }

    void finished(worker_id, task& t, const usage&) override { activate_if_crossing(t); }

private:
    member& of(worker_id w) { return members_[static_cast<std::size_t>(w)]; }

    void activate_if_crossing(task& t) {
        auto& mine = t.data<task_state_of_adws>();
        if (!mine.where.crosses() || mine.node == nullptr) return;
        mine.node->active.store_release(true);
        context_->wake(context_->all()); // who slept for want of a range looks again
    }

    workers steal_range(worker_id w) {
        tree_node* top = nullptr;
        for (tree_node* n = of(w).node.load_relaxed(); n != nullptr; n = n->parent.load_relaxed()) {
            if (n->active.load_acquire()) top = n;
        }
        return top != nullptr ? context_->all() : workers{}; // sketch: the range is packed in the node
    }

    pick steal(worker_id w) { // Alg. 4.3
        const workers eligible = steal_range(w);
        if (eligible.size() < 2) return {};
        const int v = eligible.first +
                      static_cast<int>(context_->random(w, static_cast<std::uint32_t>(eligible.size())));
        if (v == w) return {};
        if (v != eligible.first) {
            if (task* const t = of(v).migrated.try_pop_back()) return {t, v};
        }
        if (task* const t = of(v).local.try_pop_back()) return {t, v};
        return {nullptr, v, true};
    }

    policy_context* context_ = nullptr;
    std::unique_ptr<member[]> members_;
};

[[maybe_unused]] const auto make = [] { return std::make_unique<adws>(); };

} // namespace
} // namespace weft::policies::skeletons
