#include "trace/profile/burdened_paths.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace weft::trace {

namespace {

void add_share(std::vector<path_share>& to, const path_share& more) {
    const auto found = std::ranges::find(to, more.construct, &path_share::construct);
    if (found == to.end())
        to.push_back(more);
    else
        found->add(more);
}

} // namespace

std::vector<path_share> burdened_paths::shares_of(const burdened_path& of) const {
    std::vector<const step*> all;
    for (std::uint32_t s = of.last; s; s = steps_[s].before) all.push_back(&steps_[s]);
    std::vector<path_share> shares;
    for (const step* s : std::views::reverse(all))
        for (const path_share& one : s->shares) add_share(shares, one);
    if (of.tail.pieces > 0) add_share(shares, of.tail);
    return shares;
}

void burdened_paths::store_tail(burdened_path& of) {
    if (of.last && steps_[of.last].paths == 1)
        unite(of.last);
    else
        of.last = add(of.last); // the new step has the path's part in the older one
    add_share(steps_[of.last].shares, std::exchange(of.tail, {}));
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

} // namespace weft::trace
