#include "trace/walk/tasks.hpp"

#include <utility>

namespace weft::trace {

row tasks::find_or_add(std::uint32_t number) {
    if (const row known = index_.find(number); known != no_row) return known;
    const auto added = static_cast<row>(size());
    table.number.push_back(number);
    table.name.push_back(0);
    table.parent.push_back(0);
    table.group.push_back(0);
    table.origin.push_back(unknown_byte);
    table.start.push_back(unknown_byte);
    table.outcome.push_back(unknown_byte);
    table.worker.push_back(unknown);
    table.spawned.push_back(unknown);
    table.began.push_back(unknown);
    table.ended.push_back(unknown);
    table.own.push_back(0);
    unsure_.push_back(false);
    index_.set(number, added);
    return added;
}

row tasks::spawn(std::uint32_t number) {
    if (const row before = index_.find(number); before != no_row && table.spawned[before] != unknown)
        index_.set(number, no_row);
    return find_or_add(number);
}

task_table tasks::finish() {
    for (row t = 0; t < size(); ++t)
        if (unsure_[t] || table.began[t] == unknown) table.own[t] = unknown;
    return std::move(table);
}

} // namespace weft::trace
