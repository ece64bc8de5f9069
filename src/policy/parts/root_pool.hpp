#pragma once

#include "policy/parts/data_task.hpp"

#include "queue/cell.hpp"
#include "queue/locked_list.hpp"
#include "task/task.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

/// The CF roots, and the tasks above them, that wait for the head of a socket, and which of them is next.
///
/// The pool is double-ended: the socket's head takes from one end, heads of other sockets take from the other
/// end. With the order `nearest` (L8 of laws.cpp), the nearest to the data of the last root goes first, or the
/// largest while one of those that wait is more than a quarter of them, and other heads get the one whose turn
/// would come last.
///
/// Any worker puts; heads take. The list has its own lock. Not here: whether a head may take at all
/// (L3 and L7 of laws.cpp).
namespace weft {

class root_pool {
public:
    enum class order : std::uint8_t { youngest, oldest, nearest }; ///< what the socket's own head takes

    /// For policy::attach.
    void attach(order own) noexcept { order_ = own; }

    void put(task& t) noexcept { waiting_.push_back(&t); }
    bool empty() const noexcept { return waiting_.empty(); }
    std::size_t size() const noexcept { return waiting_.size(); }

    /// The head of the socket begins that CF root: the next turns are near its data.
    void began(interval data) noexcept { last_.store_relaxed((data.from + data.to) / 2); }

    task* take_next() noexcept { return take(true); }
    task* take_for_other() noexcept { return take(false); }
    task* take_oldest() noexcept { return waiting_.try_pop_front(); }
    /// The oldest task above the CF roots: it has no data that lie on a socket.
    task* take_above() noexcept {
        return waiting_.pop_first_if(
            [](const task& t) { return t.data<data_task>().is == data_task::kind::above; });
    }

private:
    static constexpr double even_subtrees = 4;         // of what waits, none is more than its part
    static constexpr std::size_t most_compared = 1024; // which takes about 10 us

    task* take(bool next) noexcept {
        if (order_ != order::nearest)
            return next == (order_ == order::oldest) ? waiting_.try_pop_front() : waiting_.try_pop_back();
        if (waiting_.size() > most_compared) return next ? waiting_.pop_front() : waiting_.pop_back();
        double all = 0, largest = 0;
        waiting_.visit([&](const task& t) {
            all += t.data<data_task>().data.size();
            largest = std::max(largest, t.data<data_task>().data.size());
        });
        const bool by_size = largest * even_subtrees > all;
        const double last = last_.load_relaxed();
        return waiting_.pop_least([&](const task& t) {
            std::array<double, 3> turn = turn_of(t.data<data_task>(), by_size, last);
            if (!next)
                for (double& each : turn) each = -each;
            return turn;
        });
    }

    /// The least goes first. Rounded, so that those that differ only by rounding are alike.
    static std::array<double, 3> turn_of(const data_task& t, bool by_size, double last) noexcept {
        const double gap = std::max({t.data.from - last, last - t.data.to, 0.0});
        const double away = std::round(gap * 1e6);
        const double packed = t.is == data_task::kind::above ? 0 : 1;
        if (by_size) return {-std::round(std::log2(t.data.size())), packed, away};
        return {away, packed, 0};
    }

    order order_ = order::youngest;    // fixed
    queue::locked_list<task> waiting_; // the oldest in front
    queue::cell<double> last_;         // the middle of the data of the CF root that was begun last
};

} // namespace weft
