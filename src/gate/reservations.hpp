#pragma once

#include "gate/claim.hpp"
#include "gate/resource.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace weft {

/// The claims that reserve what they need, in the order in which they began to, and what they leave to the
/// others (R4, R5). Everything here belongs to the gate's lock.
class reservations {
public:
    /// At most `expected` claims reserve at a time without another allocation.
    explicit reservations(int expected) { reserving_.reserve(static_cast<std::size_t>(expected)); }

    void add(const claim& c) { reserving_.push_back(&c); }
    void remove(const claim& c) noexcept { std::erase(reserving_, &c); }

    /// The place where a worker of this rank could take the part now; nothing if there is none.
    std::optional<int> room(const claim&, const claim::part&, int rank) const noexcept;
    /// The first part that cannot be had at this rank, or is held elsewhere; null if all of it can be had.
    const claim::part* obstacle(const claim&, int rank) const noexcept;
    /// An older reservation of workers keeps all others from them: places of all scopes overlap (R8).
    bool has_older_of_workers(const claim&, const resource& tokens) const noexcept;

private:
    std::int64_t kept_from(const claim&, const resource&, int place) const noexcept;
    bool fits(const claim&, const claim::part&, int place) const noexcept;

    std::vector<const claim*> reserving_; ///< oldest first
};

} // namespace weft
