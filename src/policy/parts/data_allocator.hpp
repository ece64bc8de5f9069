#pragma once

#include "policy/seam/policy.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

/// Which part of a program's data a task has, and on which socket that part lies.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 4.5.
///
/// The data are the interval from 0 to 1. Each socket has a part of it, in the order of the sockets and in
/// proportion to its number of workers. The root of a program has the whole interval. A task that has
/// [from, to) gives the j-th of its b children the j-th of b equal parts (Eq. 4.5), or the part that hints
/// say: by the addresses of both, or by the child's share of the bytes or the work of its group.
///
/// Choices where the book is silent: A task that straddles a border belongs to the socket that has most of
/// it; if two sockets have equally much, to the lower one. If neither hints nor the number of children tell a
/// child's part, the children take turns: each gets the part of its parent's interval that lies on one
/// socket. If the whole interval lies on one socket, each gets one half of it.
namespace weft {

struct interval {
    double from = 0, to = 0;
    double size() const noexcept { return to - from; }
};

class data_allocator {
public:
    struct group_part { ///< kept in the policy's bytes of a group
        double given;   ///< part of the parent's interval that the children so far have got
        int children;
    };
    struct home {
        int socket;
        bool straddles;
    };

    /// Allocates: for policy::attach. `sockets` are adjacent.
    void attach(const std::vector<workers>& sockets) {
        const auto all = static_cast<double>(sockets.back().last - sockets.front().first);
        for (const workers& s : sockets)
            parts_.push_back(
                {(s.first - sockets.front().first) / all, (s.last - sockets.front().first) / all});
    }

    interval part_of(const task& parent, interval all, const task& child, group_part& given) const noexcept {
        const hints &p = parent.hint(), &c = child.hint();
        const int index = given.children++;
        const auto address = [](const void* a) {
            return static_cast<double>(reinterpret_cast<std::uintptr_t>(a));
        };
        if (p.data_begin != nullptr && c.data_begin != nullptr) {
            const double begin = address(p.data_begin), length = address(p.data_end) - begin;
            const auto at = [&](const void* a) {
                return all.from + all.size() * std::clamp((address(a) - begin) / length, 0.0, 1.0);
            };
            if (length > 0 && address(c.data_end) > address(c.data_begin))
                return {at(c.data_begin), at(c.data_end)};
        }
        const double share = share_of(parent, child);
        if (!(share > 0) || given.given + share > 1 + rounding) return by_turns(all, index);
        const double from = all.from + all.size() * given.given;
        given.given += share;
        const bool to_the_end = given.given > 1 - rounding;
        return {from, to_the_end ? all.to : all.from + all.size() * given.given};
    }

    home home_of(interval data) const noexcept {
        std::size_t best = 0;
        for (std::size_t i = 1; i < parts_.size(); ++i)
            if (overlap(data, parts_[i]) > overlap(data, parts_[best]) + rounding) best = i;
        return {static_cast<int>(best),
                data.from < parts_[best].from - rounding || data.to > parts_[best].to + rounding};
    }

private:
    static constexpr double rounding = 1e-9; ///< above the error of sums of thirds, far below any task

    /// The child's share of its parent's interval; 0 if neither hints nor the number of children tell it.
    static double share_of(const task& parent, const task& child) noexcept {
        const auto ratio = [](double a, double b) { return a > 0 && b > 0 && a <= b ? a / b : 0; };
        const hints &mine = child.hint(), &all = child.parent_group()->hint();
        const std::size_t bytes = all.bytes > 0 ? all.bytes : parent.hint().bytes;
        if (const double r = ratio(static_cast<double>(mine.bytes), static_cast<double>(bytes)); r > 0)
            return r;
        if (const double r = ratio(mine.work, all.work); r > 0) return r;
        const int children = all.children > 0 ? all.children : parent.hint().children;
        return children > 0 ? 1.0 / children : 0;
    }

    interval by_turns(interval all, int index) const noexcept {
        const auto is_touched = [&](const interval& part) { return overlap(all, part) > rounding; };
        const auto touched = static_cast<int>(std::ranges::count_if(parts_, is_touched));
        if (touched < 2) {
            const double middle = all.from + all.size() / 2;
            return index % 2 == 0 ? interval{all.from, middle} : interval{middle, all.to};
        }
        int left = index % touched;
        for (const interval& part : parts_)
            if (is_touched(part) && left-- == 0)
                return {std::max(all.from, part.from), std::min(all.to, part.to)};
        return all;
    }

    static double overlap(interval a, interval b) noexcept {
        return std::min(a.to, b.to) - std::max(a.from, b.from);
    }

    std::vector<interval> parts_; // of the sockets
};

} // namespace weft
