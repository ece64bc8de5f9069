#pragma once

#include "engine/model/virtual_clock.hpp"
#include "task/task.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace weft::engine {

/// Transfers that share resources (a memory node, a link between two nodes, a cache) by max-min fairness: no
/// transfer can get more of what it lacks except at the cost of one that has as little. A fluid model: rates
/// change only when a transfer begins or ends, or a capacity changes. Progressive filling as in Bertsekas and
/// Gallager, Data Networks, section 6.5.2. Times in nanoseconds, capacities in GB/s, which is bytes a
/// nanosecond.
///
/// Time is whole, and what a transfer has left is relative to the transfer, so neither depends on how late it is.
/// A transfer with less than `over_ns` left is over; at_or_after() of any more is later than now. So a caller that
/// advances to next_end() again and again either ends a transfer or lets a nanosecond pass each time.
class shared_bandwidth {
public:
    struct use {
        int resource;
        double bytes;
    };

    /// `capacities`: by resource, in GB/s; infinite means no limit.
    explicit shared_bandwidth(std::vector<double> capacities);

    /// Begins a transfer of so many bytes in all, which takes `least_ns` (> 0) if no other one is in its way.
    /// `owner` is a number that the caller chooses; an owner has at most one transfer at a time. `of` says
    /// how many bytes pass each resource. A byte may pass several resources, or none with a limit; each
    /// resource appears at most once.
    void begin(int owner, time_ns now, double least_ns, double bytes, std::span<const use> of);
    /// Lets time pass until `now`. Calls `ended(owner)` for each transfer that is over, in the order of their
    /// beginning.
    template <class Ended>
    void advance(time_ns now, Ended&& ended) {
        advance_to(now);
        bool some = false;
        for (std::size_t i = 0; i < running_.size();) {
            if (!running_[i].is_over()) {
                ++i;
                continue;
            }
            some = true;
            const int owner = running_[i].owner;
            running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
            ended(owner);
        }
        if (some) allocate();
    }
    void set_capacity(int resource, double gbps, time_ns now);

    /// The first whole nanosecond at which a transfer is over if nothing else happens; `end_of_time` if there is
    /// none before that.
    time_ns next_end() const noexcept;
    bool empty() const noexcept { return running_.empty(); }
    bool has_limit(int resource) const noexcept;
    /// The part of its full speed that the owner's transfer has now, in (0, 1]; 0 if the owner has none
    /// running.
    double speed_of(int owner) const noexcept;

private:
    static constexpr double over_ns = 1e-3; ///< at_or_after() needs as much to get beyond now

    struct transfer {
        int owner;
        double left = 1;     ///< the part that is still to come
        double least_ns = 0; ///< at full speed
        double bytes = 0;
        double speed = 1;      ///< the present one, as a part of the full speed
        std::vector<use> of{}; ///< resources with a limit only

        double rate(double part_of_speed) const noexcept { return bytes / least_ns * part_of_speed; }
        double ns_left() const noexcept { return left * least_ns / speed; }
        bool is_over() const noexcept { return ns_left() < over_ns; }
    };

    void advance_to(time_ns now) noexcept;
    void allocate();

    std::vector<double> capacities_;
    std::vector<transfer> running_;
    time_ns now_ = 0;
};

} // namespace weft::engine
