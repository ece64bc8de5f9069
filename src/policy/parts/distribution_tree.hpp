#pragma once

#include "policy/parts/work_range.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/list_hook.hpp"
#include "queue/locked_list.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

/// In which range a member may steal: the groups of search roots as a tree, of which some nodes are active.
///
///   S. Shiina, master's thesis, University of Tokyo 2021, 4.2.4 and 4.3.3.
///
/// Each group of a search root is a node. It is active from when one of its search roots has ended until the
/// group ends. Each member has a current node, and steals within the topmost active node over it, so that the
/// range grows from the bottom up, and only where the hints were wrong. The tree says where to look; it holds
/// no task.
///
///     word       | writer                                       | order
///     range      | the worker that opens the group              | relaxed, before the store of `current`
///     parent     | the worker that opens the group              | relaxed, before the store of `current`
///     active     | set by the worker that ends a search root,   | release, pairs with steal_range()
///                | cleared by the one that ends the group       | relaxed
///     current    | open(), close(), move_to()                   | release, pairs with steal_range()
///
/// I1. Nodes are never freed, and all of their words are cells. A member may hold a node that has been closed
///     and opened again: such a stale node gives a wrong range, and nothing else.
namespace weft {

class distribution_tree {
public:
    struct node {
        queue::cell<std::uint64_t> range; ///< a packed member_range
        queue::cell<node*> parent;
        queue::cell<bool> active;
        int home = 0; ///< fixed: the member from whose list it comes
        queue::list_hook queue_link{};
    };

    /// Allocates: for policy::attach.
    void attach(int members) {
        members_ = std::make_unique<member[]>(static_cast<std::size_t>(members));
        nodes_ = std::make_unique<node[]>(static_cast<std::size_t>(members) * nodes_per_member);
        for (int m = 0; m < members; ++m)
            for (int n = 0; n < nodes_per_member; ++n) {
                node& own = nodes_[static_cast<std::size_t>(m * nodes_per_member + n)];
                own.home = m;
                of(m).free.push_back(&own);
            }
    }

    /// The group of a search root begins: its node becomes the current one of `m`. Returns null if the groups
    /// of `m` are nested deeper than it has nodes. Then the group around stands for the new one.
    node* open(int m, const member_range& range, node* parent) noexcept {
        node* const n = of(m).free.try_pop_front();
        if (n == nullptr) return nullptr;
        n->range.store_relaxed(range.packed());
        n->parent.store_relaxed(parent);
        of(m).current.store_release(n); // pairs with steal_range(): the words of the node are written
        return n;
    }
    void close(node& n) noexcept {
        member& home = of(n.home);
        home.current.store_release(n.parent.load_relaxed()); // pairs with steal_range()
        n.active.store_relaxed(false);
        home.free.push_front(&n);
    }

    /// Returns whether the node was inactive: then there is a new range to steal in.
    static bool activate(node& n) noexcept {
        if (n.active.load_relaxed()) return false;
        n.active.store_release(true); // pairs with steal_range()
        return true;
    }
    static member_range range_of(const node& n) noexcept {
        return member_range::unpacked(n.range.load_relaxed());
    }

    /// `n`, which may be null, becomes the current node of `m`.
    void move_to(int m, node* n) noexcept { of(m).current.store_release(n); } // pairs with steal_range()

    /// The range of the topmost active node over the current one of `m`, if there is one. The member is
    /// number `here` of `level`: a node of another level, or one that does not contain it, is stale.
    std::optional<member_range> steal_range(int m, int level, int here) const noexcept {
        std::optional<member_range> top;
        const node* n = of(m).current.load_acquire(); // pairs with open(), close(), move_to()
        for (unsigned step = 0; n != nullptr && step < most_steps; ++step, n = n->parent.load_relaxed()) {
            if (!n->active.load_acquire()) continue; // pairs with activate()
            const member_range r = range_of(*n);
            if (r.level == level && r.contains(here)) top = r; // I1: otherwise it is stale
        }
        return top;
    }

private:
    static constexpr int nodes_per_member = 256;
    static constexpr unsigned most_steps = 4096; // of a walk, in case stale nodes form a ring

    struct alignas(queue::k_cache_line_bytes) member {
        queue::locked_list<node> free; // any worker
        queue::cell<node*> current;    // (I1)
    };
    member& of(int m) const noexcept { return members_[static_cast<std::size_t>(m)]; }

    std::unique_ptr<member[]> members_;
    std::unique_ptr<node[]> nodes_;
};

} // namespace weft
