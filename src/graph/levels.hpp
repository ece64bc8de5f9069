#pragma once

#include "graph/stable_array.hpp"
#include "policy/seam/policy.hpp"

#include <atomic>
#include <cstdint>
#include <vector>

namespace weft {

/// The distance of each task of a graph from the end, its predecessors and its successors, kept while the
/// graph grows, for policies that look ahead (requirements::levels). It changes under the graph's lock.
///
/// The bottom level of a task is the number of tasks on the longest path from it to a task without
/// successors, both included: E. G. Coffman, R. L. Graham: Optimal scheduling for two-processor systems,
/// 1972; on line as in K. Chronaki et al.: Criticality-aware dynamic task scheduling for heterogeneous
/// architectures, ICS 2015. A new task has level 1; an edge raises the tasks before it, as far back as that
/// changes a level.
class graph_levels final : public graph_view {
public:
    explicit graph_levels(std::uint64_t id, const hints& (*hint_of)(const void*, std::uint32_t),
                          const void* of) noexcept
        : id_(id)
        , hint_(hint_of)
        , of_(of) {}

    void add_task();
    void add_edge(std::uint32_t from, std::uint32_t to);
    /// The task has ended: its level is not raised any more. relaxed: a late reader only raises a level that
    /// no policy reads any more
    void ended(std::uint32_t t) noexcept { at_[t].ended.store(true, std::memory_order_relaxed); }
    /// True once after tasks were added of which the policy has not been told. relaxed: the caller then takes
    /// the graph's lock
    bool has_grown() noexcept {
        return grown_.load(std::memory_order_relaxed) && grown_.exchange(false, std::memory_order_relaxed);
    }
    void told() noexcept { told_ = size(); }

    // graph_view
    std::uint64_t id() const noexcept override { return id_; }
    std::uint32_t size() const noexcept override { return at_.size(); }
    std::uint32_t first_new() const noexcept override { return told_; }
    const hints& hint(std::uint32_t t) const noexcept override { return hint_(of_, t); }
    int bottom_level(std::uint32_t t) const noexcept override {
        return at_[t].level.load(std::memory_order_relaxed); // relaxed: a figure that guards nothing
    }
    void predecessors(std::uint32_t t, void (*each)(void*, std::uint32_t), void* with) const override {
        visit(at_[t].before, each, with);
    }
    void successors(std::uint32_t t, void (*each)(void*, std::uint32_t), void* with) const override {
        visit(at_[t].behind, each, with);
    }

private:
    struct entry {
        std::atomic<std::int32_t> level{1}; ///< written under the graph's lock
        std::atomic<bool> ended{false};
        std::uint32_t before = 0, behind = 0; ///< newest of a list of links
    };
    struct link {
        std::uint32_t task, next;
    };

    void visit(std::uint32_t list, void (*each)(void*, std::uint32_t), void* with) const {
        for (; list; list = links_[list].next) each(with, links_[list].task);
    }
    void push(std::uint32_t& list, std::uint32_t task);

    const std::uint64_t id_;
    const hints& (*const hint_)(const void*, std::uint32_t);
    const void* const of_;
    stable_array<entry> at_;
    std::vector<link> links_ = std::vector<link>(1);
    std::vector<std::uint32_t> open_; ///< room for add_edge
    std::atomic<bool> grown_{false};
    std::uint32_t told_ = 0;
};

} // namespace weft
