#include "trace/walk/paths.hpp"

#include <algorithm>

namespace weft::trace {

void paths::run(row t, std::int64_t ns) {
    if (of_[t].last == no_row) of_[t] = enter(t, of_[t]);
    of_[t].length += ns;
}

path paths::longest() const {
    path best;
    for (const path& p : of_) best = longer(best, p);
    return best;
}

critical_path paths::steps_of(const path& p) const {
    critical_path c;
    std::int64_t end = p.length;
    for (std::uint32_t s = p.last; s != no_row; s = steps_[s].before) {
        if (steps_[s].begin < end) {
            c.task.push_back(steps_[s].task);
            c.begin.push_back(steps_[s].begin);
            c.end.push_back(end);
        }
        end = steps_[s].begin;
    }
    std::ranges::reverse(c.task);
    std::ranges::reverse(c.begin);
    std::ranges::reverse(c.end);
    return c;
}

path paths::enter(row t, const path& from) {
    steps_.push_back({t, from.last, from.length});
    return {from.length, static_cast<std::uint32_t>(steps_.size() - 1)};
}

} // namespace weft::trace
