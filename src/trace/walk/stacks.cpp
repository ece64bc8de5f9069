#include "trace/walk/stacks.hpp"

#include <algorithm>
#include <utility>

namespace weft::trace {

void stacks::remove(std::size_t w, row t) {
    stack& s = of_worker_[w];
    const auto found = std::ranges::find(s, t, &entry::task);
    if (found == s.end()) return tasks_.doubt(t);
    for (auto above = found + 1; above != s.end(); ++above) tasks_.doubt(above->task);
    s.erase(found, s.end());
}

void stacks::suspend(std::size_t w, row t, std::int64_t when) {
    asides_[t] = {.entries = std::exchange(of_worker_[w], {}), .since = when};
}

void stacks::expose(std::size_t w, row t, std::int64_t when) {
    stack& s = of_worker_[w];
    const auto first = std::ranges::find(s, t, &entry::task);
    if (first == s.end()) return;
    const auto child = std::find_if(first + 1, s.end(), [](const entry& e) { return e.is_below; });
    if (child == s.end()) return;
    asides_[t] = {.entries = {first, child}, .child = child->task, .since = when};
    s.erase(first, child);
}

bool stacks::restore(std::size_t w, row t, std::int64_t when) {
    const auto found = asides_.find(t);
    if (found == asides_.end()) return false;
    const aside a = std::move(found->second);
    asides_.erase(found);
    doubt_if_lost(a, when);
    stack& s = of_worker_[w];
    // If no thief took the offer, the child is still on the stack.
    const auto child = std::ranges::find(s, a.child, &entry::task);
    s.insert(a.child == no_row ? s.end() : child, a.entries.begin(), a.entries.end());
    return true;
}

void stacks::lose(std::size_t w) {
    for (const entry& e : of_worker_[w]) tasks_.doubt(e.task);
    of_worker_[w].clear();
}

void stacks::finish(std::int64_t last) {
    for (const auto& [t, a] : asides_) doubt_if_lost(a, last);
}

void stacks::doubt_if_lost(const aside& a, std::int64_t until) {
    if (!lost_.overlap(a.since, until)) return;
    for (const entry& e : a.entries) tasks_.doubt(e.task);
}

} // namespace weft::trace
