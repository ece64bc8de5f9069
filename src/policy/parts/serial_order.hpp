#pragma once

#include "queue/spin_lock.hpp"
#include "task/task.hpp"

#include <cstdint>
#include <tuple>

/// The order in which one worker would run the tasks of a program, depth-first and child before the rest of
/// its parent: for policies that give the first task in it to any free worker. It is an order, not a queue.
///
///   Order maintenance after M. A. Bender, R. Cole, E. D. Demaine, M. Farach-Colton, J. Zito: Two simplified
///   algorithms for maintaining order in a list. ESA 2002.
///
/// Each task that is not over has a tag, and stands in a list with the tasks of its family in the order of
/// their tags. A family is a root, or a task of a graph, with all its descendants. A child gets a tag between
/// its parent's and that of the task before it. If no tag is left between the two, the tags of a part of the
/// list are spread. That keeps the order of all tasks that have a tag, so a heap sorted by tags stays a heap.
/// Families stand in the order of their roots, tasks of a graph in that of their numbers.
///
/// All calls are made under one lock, the caller's. The links are in the bytes of the tasks, and neighbours
/// write them. So a task whose bytes the engine may copy (spawn_order::lazy) is taken out of the list before.
///
/// I1: in a list, tags rise strictly, and none is 0.
/// I2: `before` and `after` of two neighbours name each other.
namespace weft {

class serial_order {
public:
    /// Holds that lock from here to the end of the block.
    class guard {
    public:
        explicit guard(queue::spin_lock<>& lock) noexcept : lock_(lock) { lock_.lock(); }
        ~guard() { lock_.unlock(); }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;

    private:
        queue::spin_lock<>& lock_;
    };

    struct node { ///< of the policy's bytes: all zero before it is placed
        task *before, *after;
        std::uint64_t tag; ///< 0: it has no place
        std::uint64_t graph;
        std::uint32_t number; ///< in its graph
        bool is_linked;
    };

    struct earlier {
        bool operator()(task& a, task& b) const noexcept { return key(a) < key(b); }
    };

    /// The first of a family.
    static void place(task& t) noexcept {
        of(t) = {.before = nullptr,
                 .after = nullptr,
                 .tag = std::uint64_t{1} << 63U,
                 .graph = t.graph(),
                 .number = t.graph_number(),
                 .is_linked = true};
    }
    static bool is_placed(task& t) noexcept { return of(t).tag != 0; }

    /// Both are placed then. A parent that has left the list hands on its tag, since no task can come
    /// between.
    static void place_before(task& child, task& parent) noexcept {
        if (!is_placed(parent)) place(parent);
        node& p = of(parent);
        node& c = of(child);
        c = p;
        c.is_linked = p.is_linked;
        if (!p.is_linked) return;
        const auto room = [&] { return p.tag - (p.before == nullptr ? 0 : of(*p.before).tag); };
        if (room() < 2) spread(parent); // I1
        c.tag = p.tag - room() / 2;
        c.after = &parent; // I2
        if (c.before != nullptr) of(*c.before).after = &child;
        p.before = &child;
    }

    /// The task keeps its tag, and is no task's neighbour any more.
    static void take_out(task& t) noexcept {
        node& n = of(t);
        if (!n.is_linked) return;
        n.is_linked = false;
        if (n.before != nullptr) of(*n.before).after = n.after;
        if (n.after != nullptr) of(*n.after).before = n.before;
        n.before = n.after = nullptr;
    }

private:
    static node& of(task& t) noexcept { return t.data<node>(); }

    static std::tuple<int, std::uint64_t, std::uint32_t, std::uint64_t> key(task& t) noexcept {
        const node& n = of(t);
        return {t.root(), n.graph, n.number, n.tag};
    }

    /// Tags around that of `middle` are spread evenly over the smallest aligned range that is sparse enough
    /// not to fill up soon: the longer a range, the fewer of its tags may be in use.
    static void spread(task& middle) noexcept {
        task* first = &middle;
        task* last = &middle;
        std::uint64_t count = 1;
        double most = 1; // (4/3)^bits
        for (unsigned bits = 1; bits < 64; ++bits) {
            most *= 4.0 / 3;
            const std::uint64_t size = std::uint64_t{1} << bits, from = of(middle).tag & ~(size - 1);
            while (of(*first).before != nullptr && of(*of(*first).before).tag >= from) {
                first = of(*first).before;
                ++count;
            }
            while (of(*last).after != nullptr && of(*of(*last).after).tag - from < size) {
                last = of(*last).after;
                ++count;
            }
            const std::uint64_t step = size / (count + 1);
            // Two steps between neighbours, so that there is room for one more before each of them.
            if (step < 2 || (static_cast<double>(count) > most && bits < 63)) continue;
            std::uint64_t tag = from;
            for (task* t = first;; t = of(*t).after) {
                of(*t).tag = tag += step;
                if (t == last) return;
            }
        }
    }
};

} // namespace weft
