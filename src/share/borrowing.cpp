#include "share/borrowing.hpp"

#include <algorithm>

namespace weft::share {

void lent_record::see(std::int64_t lender, std::uint64_t generation) noexcept {
    const bool same = lender == lender_ && generation == generation_;
    lent_for_ = lender == 0 ? 0 : same ? std::min(lent_for_ + 1, 2 * longest_wait) : 1;
    lender_ = lender;
    generation_ = generation;
}

void lent_record::was_lost() noexcept {
    lent_for_ = used_for_ = 0;
    wait_ = std::min(2 * wait_, longest_wait);
}

void lent_record::was_of_use() noexcept {
    if (++used_for_ < wait_) return;
    used_for_ = 0;
    wait_ = std::max(wait_ / 2, 1);
}

int appetite::want(const crew_sight& s) noexcept {
    if (s.idle_guests > 0) {
        if (has_just_grown_) {
            pause_ = next_pause_;
            next_pause_ = std::min(2 * next_pause_, longest_pause);
        }
        has_just_grown_ = false;
        return s.guests - s.idle_guests;
    }
    if (has_just_grown_) next_pause_ = 1; // all that came have found work
    has_just_grown_ = false;
    if (pause_ > 0) --pause_;
    if (s.idle_homes > 0 || pause_ > 0) return s.guests;
    has_just_grown_ = true;
    return std::max(2 * s.guests, 1);
}

} // namespace weft::share
