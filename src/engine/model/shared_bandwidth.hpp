#pragma once

#include <span>
#include <vector>

namespace weft::engine {

/// Transfers that share resources (a memory node, a link between two, a cache) by max-min fairness: no
/// transfer can get more of what it lacks but at the cost of one that has as little. A fluid model: rates
/// change only when a transfer begins or ends, or a capacity changes. Progressive filling as in Bertsekas and
/// Gallager, Data Networks, section 6.5.2. Times in nanoseconds, capacities in GB/s, which is bytes a
/// nanosecond.
class shared_bandwidth {
public:
    struct use {
        int resource;
        double bytes;
    };

    /// Infinite: no limit.
    explicit shared_bandwidth(std::vector<double> capacities);

    /// A transfer of so many bytes in all, somebody's (a number of the caller's, one transfer each at a
    /// time), which takes `least_ns` (> 0) where nothing else is in its way. A byte may pass several
    /// resources, or none that has a limit; each appears at most once in `of`.
    void begin(int whose, double now, double least_ns, double bytes, std::span<const use> of);
    /// Lets time pass until `now`; `ended(whose)` is told of those that are over, in the order of their
    /// beginning.
    template <class Ended>
    void advance(double now, Ended&& ended) {
        pass(now);
        bool some = false;
        for (std::size_t i = 0; i < running_.size();) {
            if (!running_[i].is_over()) {
                ++i;
                continue;
            }
            some = true;
            const int whose = running_[i].whose;
            running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
            ended(whose);
        }
        if (some) share_out();
    }
    void set_capacity(int resource, double gbps, double now);

    /// When the next one is over if nothing else happens; infinite if none is running.
    double next_end() const noexcept;
    bool empty() const noexcept { return running_.empty(); }
    bool has_limit(int resource) const noexcept;
    /// Of a running transfer: the part of its full speed that it has now, (0, 1].
    double speed_of(int whose) const noexcept;

private:
    struct transfer {
        int whose;
        double left = 1;     ///< part of it that is still to come
        double least_ns = 0; ///< at full speed
        double bytes = 0;
        double speed = 1;      ///< now, part of the full one
        std::vector<use> of{}; ///< resources with a limit only

        double rate(double part_of_speed) const noexcept { return bytes / least_ns * part_of_speed; }
        double ns_left() const noexcept { return left * least_ns / speed; }
        bool is_over() const noexcept {
            return ns_left() < 1e-3;
        } ///< a thousandth of what time is counted in
    };

    void pass(double now) noexcept;
    void share_out();

    std::vector<double> capacities_;
    std::vector<transfer> running_;
    double now_ = 0;
};

} // namespace weft::engine
