#include "trace/profile/burdened_paths.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace weft::trace {

namespace {

void add_share(std::vector<path_share>& to, const path_share& more) {
    const auto found = std::ranges::find(to, more.construct, &path_share::construct);
    if (found == to.end()) {
        to.push_back(more);
        return;
    }
    found->pieces += more.pieces;
    found->time += more.time;
    found->longest = std::max(found->longest, more.longest);
}

} // namespace

void burdened_paths::extend(burdened_path& of, std::uint32_t construct, std::int64_t time) {
    if (of.last == 0 || steps_[of.last].paths > 1)
        of.last = add(of.last);
    else
        unite(of.last);
    add_share(steps_[of.last].shares, {construct, 1, time, time});
    of.length.add(time);
}

void burdened_paths::follow(burdened_path& of, const burdened_path& other) {
    take_longer(of, other);
    of.length = both(of.length, other.length);
}

void burdened_paths::join(burdened_path& of, const burdened_path& other, const lengths& serial, const lengths& burden) {
    take_longer(of, other);
    const std::int64_t plain = std::max(of.length.plain(), other.length.plain());
    of.length = side_by_side(of.length, other.length, serial, burden);
    of.length.of[0] = plain;
}

std::vector<path_share> burdened_paths::shares_of(const burdened_path& of) const {
    std::vector<const step*> all;
    for (std::uint32_t s = of.last; s; s = steps_[s].before) all.push_back(&steps_[s]);
    std::vector<path_share> shares;
    for (const step* s : std::views::reverse(all))
        for (const path_share& one : s->shares) add_share(shares, one);
    return shares;
}

void burdened_paths::take_longer(burdened_path& of, const burdened_path& other) {
    if (of.length.plain() >= other.length.plain()) return;
    const burdened_path longer = copy(other);
    leave(of.last);
    of.last = longer.last;
}

std::uint32_t burdened_paths::add(std::uint32_t before) {
    std::uint32_t s = 0;
    if (free_.empty()) {
        steps_.emplace_back();
        if (free_.capacity() < steps_.capacity())
            free_.reserve(steps_.capacity()); // so that leave() allocates nothing
        s = static_cast<std::uint32_t>(steps_.size() - 1);
    } else {
        s = free_.back();
        free_.pop_back();
    }
    steps_[s].before = before;
    steps_[s].paths = 1;
    return s;
}

void burdened_paths::unite(std::uint32_t last) {
    for (std::uint32_t b = steps_[last].before; b && steps_[b].paths == 1; b = steps_[last].before) {
        // The shares of the older step come first.
        std::swap(steps_[b].shares, steps_[last].shares);
        for (const path_share& one : steps_[b].shares) add_share(steps_[last].shares, one);
        steps_[last].before = std::exchange(steps_[b].before, 0);
        leave(b);
    }
}

void burdened_paths::leave(std::uint32_t s) noexcept {
    while (s && --steps_[s].paths == 0) {
        steps_[s].shares.clear();
        free_.push_back(s);
        s = steps_[s].before;
    }
}

} // namespace weft::trace
