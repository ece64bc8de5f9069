#include "trace/walk/stretches.hpp"

namespace weft::trace {

void segments::add(std::size_t w, std::uint32_t task, std::int64_t begin, std::int64_t end) {
    std::size_t& last = last_[w];
    if (last != none && table.task[last] == task && table.end[last] == begin) {
        table.end[last] = end;
        return;
    }
    last = table.task.size();
    table.worker.push_back(static_cast<std::int32_t>(w));
    table.task.push_back(task);
    table.begin.push_back(begin);
    table.end.push_back(end);
}

void idle_stretches::turn(std::size_t w, kind k, std::int64_t when) {
    since& of = of_worker_[w];
    if (of.sleep != unknown) add(w, true, of.sleep, when);
    if (of.search != unknown && of.sleep == unknown) add(w, false, of.search, when);
    of.sleep = k == kind::sleep ? when : unknown;
    if (k == kind::found)
        of.search = unknown;
    else if (k == kind::search || of.search != unknown)
        of.search = when;
}

void idle_stretches::finish(std::size_t w, std::int64_t when) {
    if (of_worker_[w].search != unknown || of_worker_[w].sleep != unknown) turn(w, kind::found, when);
}

void idle_stretches::add(std::size_t w, bool asleep, std::int64_t begin, std::int64_t end) {
    if (end <= begin) return;
    table.worker.push_back(static_cast<std::int32_t>(w));
    table.asleep.push_back(asleep);
    table.begin.push_back(begin);
    table.end.push_back(end);
}

} // namespace weft::trace
