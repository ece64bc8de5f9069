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

void shared_bandwidth::begin(int owner, time_ns now, double least_ns, double bytes, std::span<const use> of) {
    assert(least_ns > 0);
    advance_to(now);
    transfer t{.owner = owner, .least_ns = least_ns, .bytes = bytes};
    for (const use& u : of)
        if (u.bytes > 0) t.of.push_back(u);
    running_.push_back(std::move(t));
    allocate();
}

void shared_bandwidth::set_capacity(int resource, double gbps, time_ns now) {
    advance_to(now);
    capacities_[static_cast<std::size_t>(resource)] = gbps;
    allocate();
}

bool shared_bandwidth::has_limit(int resource) const noexcept {
    return std::isfinite(capacities_[static_cast<std::size_t>(resource)]);
}

time_ns shared_bandwidth::next_end() const noexcept {
    double first = infinite;
    for (const transfer& t : running_) first = std::min(first, t.ns_left());
    return at_or_after(now_, first);
}

double shared_bandwidth::speed_of(int owner) const noexcept {
    const auto at =
        std::find_if(running_.begin(), running_.end(), [&](const auto& t) { return t.owner == owner; });
    return at == running_.end() ? 0 : at->speed;
}

void shared_bandwidth::advance_to(time_ns now) noexcept {
    assert(now >= now_);
    const auto passed = static_cast<double>(now - now_);
    for (transfer& t : running_) t.left = std::max(0.0, t.left - passed * t.speed / t.least_ns);
    now_ = now;
}

void shared_bandwidth::allocate() {
    // All rates grow alike, from 0. A transfer stops growing when it has its full speed, or when a resource
    // that it uses is exhausted. What is left is for the others.
    struct resource {
        double left = 0;
        double growing =
            0;         ///< its use grows by this if all rates that still grow do so by one byte a nanosecond
        int users = 0; ///< transfers that still grow
    };
    std::vector<resource> resources(capacities_.size());
    for (std::size_t r = 0; r < resources.size(); ++r) resources[r].left = capacities_[r];
    const auto part_of = [](const transfer& t, const use& u) { return u.bytes / t.bytes; };
    std::vector<transfer*> growing;
    for (transfer& t : running_) {
        t.speed = 1;
        if (t.of.empty()) continue;
        growing.push_back(&t);
        for (const use& u : t.of) {
            resource& r = resources[static_cast<std::size_t>(u.resource)];
            r.growing += part_of(t, u);
            ++r.users;
        }
    }
    double level = 0; // the rate of all transfers that still grow
    while (!growing.empty()) {
        // What ends the step stops at least one transfer, whatever the sums below are rounded to: so there are
        // at most as many steps as transfers.
        double step = infinite;
        const transfer* slowest = nullptr;
        for (const transfer* t : growing)
            if (!slowest || t->rate(1) - level < step) step = t->rate(1) - level, slowest = t;
        std::size_t exhausted = resources.size();
        for (std::size_t r = 0; r < resources.size(); ++r) {
            const resource& one = resources[r];
            if (one.users == 0 || one.growing <= slack || one.left / one.growing >= step) continue;
            step = one.left / one.growing;
            exhausted = r;
            slowest = nullptr;
        }
        step = std::max(step, 0.0);
        level += step;
        for (resource& r : resources) r.left -= step * r.growing;
        const auto stops = [&](const transfer* t) {
            if (t == slowest || t->rate(1) <= level * (1 + slack)) return true;
            return std::any_of(t->of.begin(), t->of.end(), [&](const use& u) {
                const auto at = static_cast<std::size_t>(u.resource);
                return at == exhausted ||
                       (std::isfinite(capacities_[at]) && resources[at].left <= slack * capacities_[at]);
            });
        };
        // Decided for all transfers before any resource changes, since equal transfers must stop together.
        const auto kept = std::stable_partition(growing.begin(), growing.end(),
                                                [&](const transfer* t) { return !stops(t); });
        assert(kept != growing.end());
        for (auto t = kept; t != growing.end(); ++t) {
            (*t)->speed = std::clamp(level / (*t)->rate(1), std::numeric_limits<double>::min(), 1.0);
            for (const use& u : (*t)->of) {
                resource& r = resources[static_cast<std::size_t>(u.resource)];
                r.growing -= part_of(**t, u);
                --r.users;
            }
        }
        growing.erase(kept, growing.end());
    }
}

} // namespace weft::engine
