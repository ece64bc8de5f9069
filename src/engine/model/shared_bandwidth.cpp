#include "engine/model/shared_bandwidth.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace weft::engine {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double slack = 1e-9; ///< relative error of sums

} // namespace

shared_bandwidth::shared_bandwidth(std::vector<double> capacities) : capacities_(std::move(capacities)) {}

void shared_bandwidth::begin(int owner, double now, double least_ns, double bytes, std::span<const use> of) {
    assert(least_ns > 0);
    advance_to(now);
    transfer t{.owner = owner, .least_ns = least_ns, .bytes = bytes};
    for (const use& u : of)
        if (u.bytes > 0) t.of.push_back(u);
    running_.push_back(std::move(t));
    allocate();
}

void shared_bandwidth::set_capacity(int resource, double gbps, double now) {
    advance_to(now);
    capacities_[static_cast<std::size_t>(resource)] = gbps;
    allocate();
}

bool shared_bandwidth::has_limit(int resource) const noexcept {
    return std::isfinite(capacities_[static_cast<std::size_t>(resource)]);
}

double shared_bandwidth::next_end() const noexcept {
    double first = infinite;
    for (const transfer& t : running_) first = std::min(first, t.ns_left());
    return now_ + first;
}

double shared_bandwidth::speed_of(int owner) const noexcept {
    const auto at =
        std::find_if(running_.begin(), running_.end(), [&](const auto& t) { return t.owner == owner; });
    return at == running_.end() ? 0 : at->speed;
}

void shared_bandwidth::advance_to(double now) noexcept {
    for (transfer& t : running_) t.left = std::max(0.0, t.left - (now - now_) * t.speed / t.least_ns);
    now_ = now;
}

void shared_bandwidth::allocate() {
    // All rates grow alike, from 0. A transfer stops growing when it has its full speed, or when a resource
    // that it uses is exhausted. What is left is for the others.
    struct resource {
        double left = 0;
        double growing =
            0; ///< its use grows by this if all rates that still grow do so by one byte a nanosecond
    };
    std::vector<resource> resources(capacities_.size());
    for (std::size_t r = 0; r < resources.size(); ++r) resources[r].left = capacities_[r];
    const auto part_of = [](const transfer& t, const use& u) { return u.bytes / t.bytes; };
    std::vector<transfer*> growing;
    for (transfer& t : running_) {
        t.speed = 1;
        if (t.of.empty()) continue;
        growing.push_back(&t);
        for (const use& u : t.of) resources[static_cast<std::size_t>(u.resource)].growing += part_of(t, u);
    }
    double level = 0; // the rate of all transfers that still grow
    while (!growing.empty()) {
        double step = infinite;
        for (const transfer* t : growing) step = std::min(step, t->rate(1) - level);
        for (const resource& r : resources)
            if (r.growing > slack) step = std::min(step, r.left / r.growing);
        step = std::max(step, 0.0);
        level += step;
        for (resource& r : resources) r.left -= step * r.growing;
        const auto stops = [&](const transfer* t) {
            if (t->rate(1) <= level * (1 + slack)) return true;
            return std::any_of(t->of.begin(), t->of.end(), [&](const use& u) {
                const auto at = static_cast<std::size_t>(u.resource);
                return std::isfinite(capacities_[at]) && resources[at].left <= slack * capacities_[at];
            });
        };
        // Decided for all transfers before any resource changes, since equal transfers must stop together.
        const auto kept = std::stable_partition(growing.begin(), growing.end(),
                                                [&](const transfer* t) { return !stops(t); });
        assert(kept != growing.end());
        for (auto t = kept; t != growing.end(); ++t) {
            (*t)->speed = std::clamp(level / (*t)->rate(1), std::numeric_limits<double>::min(), 1.0);
            for (const use& u : (*t)->of)
                resources[static_cast<std::size_t>(u.resource)].growing -= part_of(**t, u);
        }
        growing.erase(kept, growing.end());
    }
}

} // namespace weft::engine
